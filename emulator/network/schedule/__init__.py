"""Schedules: tasks on resources with dependencies, over a topology; how to build, check, read, write and draw them."""
