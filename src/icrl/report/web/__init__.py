"""The report as one page of HTML that needs nothing else: no network, no server, no file beside
it."""
