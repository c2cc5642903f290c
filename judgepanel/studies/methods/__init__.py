"""Studies of methods: which aggregator and calibrator suit these votes?"""
