"""Who has what, and until when. Members and copies are numbers and barcodes here."""
