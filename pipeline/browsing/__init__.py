"""`browse RUN`: looking around in an indexed run, in a browser on this machine."""
