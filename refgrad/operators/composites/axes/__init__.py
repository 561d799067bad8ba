"""Composites along axes: statistics, sorting, scans."""
