"""From a page's bytes to a document's text."""
