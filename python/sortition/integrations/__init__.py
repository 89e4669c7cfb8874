"""Sortition inside other people's loops, one file each. Nothing here is imported before it is used."""
