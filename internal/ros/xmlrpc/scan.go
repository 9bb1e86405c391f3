package xmlrpc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner cuts a message into tags and text. It has no stack: the decoder checks the nesting.
type scanner struct {
	b   []byte
	pos int
}

type tagKind byte

const (
	tagOpen  tagKind = iota // <name>
	tagClose                // </name>
	tagEmpty                // <name/>
	tagEnd                  // end of input
)

type tag struct {
	name []byte // points into the message
	kind tagKind
	at   int
}

func (t tag) is(kind tagKind, name string) bool { return t.kind == kind && string(t.name) == name }

func (t tag) String() string {
	name := string(t.name[:min(len(t.name), 32)])
	switch t.kind {
	case tagClose:
		return fmt.Sprintf("%q", "</"+name+">")
	case tagEmpty:
		return fmt.Sprintf("%q", "<"+name+"/>")
	case tagEnd:
		return "end of message"
	case tagOpen:
	}
	return fmt.Sprintf("%q", "<"+name+">")
}

func (s *scanner) fail(at int, format string, args ...any) error {
	return &MalformedError{at, fmt.Sprintf(format, args...)}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

var (
	byteOrderMark = []byte("\xef\xbb\xbf")
	commentOpen   = []byte("<!--")
	commentClose  = []byte("-->")
	piOpen        = []byte("<?")
	piClose       = []byte("?>")
	cdataOpen     = []byte("<![CDATA[")
	cdataClose    = []byte("]]>")
)

// skip moves past a construct that starts at pos and ends with end.
func (s *scanner) skip(start, end []byte, what string) error {
	at := s.pos
	n := bytes.Index(s.b[s.pos+len(start):], end)
	if n < 0 {
		return s.fail(at, "%s without end", what)
	}
	s.pos += len(start) + n + len(end)
	return nil
}

// skipMisc moves past comments and processing instructions at pos, and reports whether there was
// any.
func (s *scanner) skipMisc() (bool, error) {
	rest := s.b[s.pos:]
	switch {
	case bytes.HasPrefix(rest, commentOpen):
		return true, s.skip(commentOpen, commentClose, "comment")
	case bytes.HasPrefix(rest, piOpen):
		return true, s.skip(piOpen, piClose, "processing instruction")
	}
	return false, nil
}

// next returns the next tag. Only whitespace, comments and processing
// instructions may stand before it.
func (s *scanner) next() (tag, error) {
	for {
		for s.pos < len(s.b) && isSpace(s.b[s.pos]) {
			s.pos++
		}
		if s.pos == len(s.b) {
			return tag{kind: tagEnd, at: s.pos}, nil
		}
		if s.b[s.pos] != '<' {
			return tag{}, s.fail(s.pos, "text %q where a tag belongs", s.b[s.pos:min(len(s.b), s.pos+16)])
		}
		skipped, err := s.skipMisc()
		if err != nil {
			return tag{}, err
		}
		if !skipped {
			return s.tag()
		}
	}
}

// tag reads the tag at pos, which is at its '<'. Attributes are skipped.
func (s *scanner) tag() (tag, error) {
	t := tag{at: s.pos}
	p := s.pos + 1
	switch {
	case p < len(s.b) && s.b[p] == '/':
		t.kind = tagClose
		p++
	case p < len(s.b) && s.b[p] == '!':
		// A document type can define entities that expand without bound.
		return t, s.fail(s.pos, "document type or other declaration")
	}
	start := p
	for p < len(s.b) && !isSpace(s.b[p]) && s.b[p] != '/' && s.b[p] != '>' && s.b[p] != '<' {
		p++
	}
	t.name = s.b[start:p:p]
	if len(t.name) == 0 {
		return t, s.fail(s.pos, "tag without a name")
	}
	var quote byte
	for ; p < len(s.b); p++ {
		switch c := s.b[p]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<':
			return t, s.fail(p, "'<' inside %v", t)
		case c == '>':
			if s.b[p-1] == '/' && t.kind == tagOpen {
				t.kind = tagEmpty
			}
			s.pos = p + 1
			return t, nil
		}
	}
	return t, s.fail(t.at, "tag without end")
}

// text returns everything up to the next tag, decoded.
func (s *scanner) text() (string, error) {
	start := s.pos
	n := bytes.IndexByte(s.b[start:], '<')
	if n < 0 {
		return "", s.fail(start, "text without end")
	}
	raw := s.b[start : start+n]
	s.pos += n
	if bytes.IndexByte(raw, '&') < 0 && !s.atCDATAOrMisc() {
		return s.plain(string(raw), start)
	}
	var sb strings.Builder
	if err := s.unescape(&sb, raw, start); err != nil {
		return "", err
	}
	for s.atCDATAOrMisc() {
		if err := s.cdataOrMisc(&sb); err != nil {
			return "", err
		}
		at := s.pos
		n := bytes.IndexByte(s.b[at:], '<')
		if n < 0 {
			return "", s.fail(at, "text without end")
		}
		if err := s.unescape(&sb, s.b[at:at+n], at); err != nil {
			return "", err
		}
		s.pos += n
	}
	return s.plain(sb.String(), start)
}

func (s *scanner) atCDATAOrMisc() bool {
	rest := s.b[s.pos:]
	return bytes.HasPrefix(rest, cdataOpen) || bytes.HasPrefix(rest, commentOpen) ||
		bytes.HasPrefix(rest, piOpen)
}

func (s *scanner) cdataOrMisc(sb *strings.Builder) error {
	if !bytes.HasPrefix(s.b[s.pos:], cdataOpen) {
		_, err := s.skipMisc()
		return err
	}
	at := s.pos + len(cdataOpen)
	if err := s.skip(cdataOpen, cdataClose, "CDATA section"); err != nil {
		return err
	}
	sb.Write(s.b[at : s.pos-len(cdataClose)])
	return nil
}

// plain refuses decoded text that the parser of a Python peer would refuse: a single name with such
// text would make the whole state of the master unreadable.
func (s *scanner) plain(t string, at int) (string, error) {
	if i := illegal(t); i >= 0 {
		return "", s.fail(at+min(i, len(s.b)-at), "byte 0x%02x, which XML cannot carry", t[i])
	}
	return t, nil
}

// longestEntity is "&#x10FFFF;", with some room for leading zeros.
const longestEntity = 16

func (s *scanner) unescape(sb *strings.Builder, raw []byte, at int) error {
	for len(raw) > 0 {
		amp := bytes.IndexByte(raw, '&')
		if amp < 0 {
			sb.Write(raw)
			return nil
		}
		sb.Write(raw[:amp])
		at += amp
		raw = raw[amp:]
		semi := bytes.IndexByte(raw[:min(len(raw), longestEntity)], ';')
		if semi < 0 {
			return s.fail(at, "'&' without an entity")
		}
		r, ok := entity(string(raw[1:semi]))
		if !ok {
			return s.fail(at, "unknown entity %q", raw[:semi+1])
		}
		sb.WriteRune(r)
		raw = raw[semi+1:]
		at += semi + 1
	}
	return nil
}

func entity(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "apos":
		return '\'', true
	case "quot":
		return '"', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune || !legal(rune(n)) {
		return 0, false
	}
	return rune(n), true
}

// legal reports whether XML 1.0 permits r.
func legal(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return true
	case r < ' ', r == 0xFFFE, r == 0xFFFF:
		return false
	}
	return utf8.ValidRune(r)
}

// illegal returns the index of the first byte that XML 1.0 does not permit, or -1.
func illegal(t string) int {
	for i, r := range t {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(t[i:]); n == 1 {
				return i
			}
		}
		if !legal(r) {
			return i
		}
	}
	return -1
}
