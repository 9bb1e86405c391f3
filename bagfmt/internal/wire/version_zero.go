package wire

import (
	"bytes"
	"strconv"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
)

// What the lines of old versions look like.
const (
	maxCountDigits = 10     // digits of the number of topics
	AnyOf          = "*"    // md5sum or type of a recorder that took anything
	maxZeroBytes   = 1 << 8 // one of the three lines of version 0
	MD5Digits      = 16 * 2 // hexadecimal
	zeroPeek       = 3 << 8 // bytes in which the three lines end
)

// IsMD5 reports whether b is an md5sum as text, or the wildcard.
func IsMD5(b []byte) bool { return string(b) == AnyOf || isHexMD5(b) }

func isHexMD5(b []byte) bool {
	if len(b) != MD5Digits {
		return false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// OrderLines says which of two lines of a version 0 or 1.0 bag is the md5sum. Its
// writer put the type first, and the description of the format, which came later, the
// md5sum.
func OrderLines(a, b []byte) (md5, typ []byte) {
	if isHexMD5(b) && !isHexMD5(a) {
		return b, a
	}
	return a, b
}

// ParseTopicCount parses the number of topics.
func ParseTopicCount(line []byte) (n int, ok bool) {
	v, err := strconv.ParseUint(string(line), 10, 31) // unlike ParseInt, it takes no sign
	return int(v), err == nil && len(line) <= maxCountDigits
}

// topicCountFollows reports whether the line at offset at is a number of topics. Nothing
// may have been read before.
func topicCountFollows(s *Stream, at int) bool {
	b, _ := s.R.Peek(at + maxCountDigits + 1)
	if len(b) <= at {
		return false
	}
	n := bytes.IndexByte(b[at:], '\n')
	if n < 0 {
		return false
	}
	_, ok := ParseTopicCount(b[at : at+n])
	return ok
}

var (
	zeroTopicRE = lazyre.New(`^[/~A-Za-z][\w/]*$`)
	zeroTypeRE  = lazyre.New(`^([A-Za-z]\w*/[A-Za-z]\w*|\*)$`)
)

// readVersionZero reads the three lines at the start of a version 0 bag. The checks are
// strict, because nothing else identifies such a file.
func readVersionZero(s *Stream) (BagVersion, error) {
	b, err := s.R.Peek(zeroPeek)
	if err != nil && !IsEnd(err) {
		return BagVersion{}, ReadError(0, err)
	}
	lines := bytes.SplitN(b, []byte{'\n'}, 4)
	if len(lines) != 4 || len(lines[0]) >= maxZeroBytes || len(lines[1]) >= maxZeroBytes ||
		len(lines[2]) >= maxZeroBytes {
		return BagVersion{}, notBag(b)
	}
	md5, typ := OrderLines(lines[1], lines[2])
	if !IsMD5(md5) || !zeroTopicRE().Match(lines[0]) || !zeroTypeRE().Match(typ) {
		return BagVersion{}, notBag(b)
	}
	c := OldConnection(0, string(lines[0]), string(typ), string(md5))
	v := BagVersion{Name: "0", Layout: LayoutV0, Elapsed: true, Single: c}
	return v, s.Skip(int64(len(b)-len(lines[3])), 0, 0)
}
