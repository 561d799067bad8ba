"""What was measured of engines on one machine: reports hold nothing of it, and pages and plots are made of it."""
