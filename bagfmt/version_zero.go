package bagfmt

import (
	"bytes"
	"regexp"
	"strconv"
)

const (
	maxCountDigits = 10     // digits of the number of topics
	anyOf          = "*"    // md5sum or type of a recorder that took anything
	maxZeroBytes   = 1 << 8 // one of the three lines of version 0
	md5Digits      = 16 * 2 // hexadecimal
	zeroPeek       = 3 << 8 // bytes in which the three lines end
)

// isMD5 reports whether b is an md5sum as text, or the wildcard.
func isMD5(b []byte) bool { return string(b) == anyOf || isHexMD5(b) }

func isHexMD5(b []byte) bool {
	if len(b) != md5Digits {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// orderLines says which of two lines of a version 0 or 1.0 bag is the md5sum. Its
// writer put the type first, and the description of the format, which came later, the
// md5sum.
func orderLines(a, b []byte) (md5, typ []byte) {
	if isHexMD5(b) && !isHexMD5(a) {
		return b, a
	}
	return a, b
}

// parseTopicCount parses the number of topics.
func parseTopicCount(line []byte) (n int, ok bool) {
	if len(line) == 0 || len(line) > maxCountDigits {
		return 0, false
	}
	for _, c := range line {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	v, err := strconv.ParseInt(string(line), 10, 32)
	return int(v), err == nil
}

// topicCountFollows reports whether the line at offset at is a number of topics. Nothing
// may have been read before.
func topicCountFollows(s *stream, at int) bool {
	b, _ := s.r.Peek(at + maxCountDigits + 1)
	if len(b) <= at {
		return false
	}
	n := bytes.IndexByte(b[at:], '\n')
	if n < 0 {
		return false
	}
	_, ok := parseTopicCount(b[at : at+n])
	return ok
}

var (
	zeroTopicRE = regexp.MustCompile(`^[/~A-Za-z][\w/]*$`)
	zeroTypeRE  = regexp.MustCompile(`^([A-Za-z]\w*/[A-Za-z]\w*|\*)$`)
)

// readVersionZero reads the three lines at the start of a version 0 bag. The checks are
// strict, because nothing else identifies such a file.
func readVersionZero(s *stream) (bagVersion, error) {
	b, err := s.r.Peek(zeroPeek)
	if err != nil && !isEnd(err) {
		return bagVersion{}, readError(0, err)
	}
	lines := bytes.SplitN(b, []byte{'\n'}, 4)
	if len(lines) != 4 || len(lines[0]) >= maxZeroBytes || len(lines[1]) >= maxZeroBytes || len(lines[2]) >= maxZeroBytes {
		return bagVersion{}, notBag(b)
	}
	md5, typ := orderLines(lines[1], lines[2])
	if !isMD5(md5) || !zeroTopicRE.Match(lines[0]) || !zeroTypeRE.Match(typ) {
		return bagVersion{}, notBag(b)
	}
	c := oldConnection(0, string(lines[0]), string(typ), string(md5))
	v := bagVersion{name: "0", layout: layoutV0, elapsed: true, single: c}
	return v, s.skip(int64(len(b)-len(lines[3])), 0, 0)
}
