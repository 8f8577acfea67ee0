"""STF: packets in, packets expected out, and the control plane's words in between. See the folder's README."""
