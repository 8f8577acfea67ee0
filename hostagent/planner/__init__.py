"""Plans before a job runs: schedules of collectives, places of ranks."""
