"""Reports for programs and browsers, one file per form; each is written run by run, however many there are."""
