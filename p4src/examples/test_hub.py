from scapy.all import IP, UDP, Ether


def test_a_known_host(p4_switch):
    switch = p4_switch("hub.p4")
    switch.table("hosts").add({"dst": "02:00:00:00:00:02"}, "forward", port=2)

    packet = Ether(dst="02:00:00:00:00:02") / IP(dst="10.0.0.2") / UDP(dport=53)
    switch.send(1, packet)
    switch.expect(2, packet)
    switch.expect_no_other()


def test_a_stranger(p4_switch):
    switch = p4_switch("hub.p4")
    switch.send(1, Ether(dst="02:00:00:00:00:99"))
    switch.expect_no_other()
    assert switch.counts == {"dropped by ingress": 1}
