"""Transcripts: read from every known agent, kept as ATIF, written as they grow, shown in a terminal.

Whatever is read here was written by strangers. Nothing of it is executed, and what is wrong with it is an InputError.
The doors: `sniff.import_file`, `views.extract_spans`, `writer.TranscriptWriter`, `show.render_transcript`.
"""
