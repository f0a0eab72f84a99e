"""The connector package: everything that reaches outside, and only ever with an `Allow` in hand."""
