"""What a browser shows of HTML, and texts that must not become markup."""

from html.parser import HTMLParser

HOSTILE = [
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "# no heading\n\n**no bold** [no link](javascript:alert(1))",
    "&lt;b&gt; &amp; &#x41;",
    "${value} {{value}} {{#if value}}x{{/if}} {0.__class__} %s $1",
    "</div></li></section><style>body{display:none}</style>",
    "שלום \u202egnirts\u202c עולם",
]


class Shown(HTMLParser):
    """Collects what a browser would show, and which tags it would make."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.text, self.tags, self.attributes = "", [], []
        self.feed(html)
        self.close()

    def handle_data(self, data):
        self.text += data

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [key for key, _ in attrs]
