"""What judges wrote: how much of it was read, and does the order shown move their verdicts?"""
