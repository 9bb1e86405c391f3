package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/rosbag"
)

// BagVersion is what the start of a file says about it.
type BagVersion struct {
	Name    string // for example "1.2"
	Layout  Layout
	Elapsed bool               // stamps count from the start of the recording
	Single  *rosbag.Connection // of version 0: the only one
}

// firstLines are the first lines that writers of bags have written.
var firstLines = []string{
	VersionLine, "#ROSRECORD V1.2\n", "#ROSRECORD V1.1\n", "#ROSLOG V1.1\n", "#ROSLOG V1.0\n", multilogLine,
}

// multilogLine is how version 1.0 looked before it got its number.
const multilogLine = "##MULTILOG##\n"

var versionRE = lazyre.New(`^#ROS\S* V(\d+)\.(\d+)\s*$`)

// Version reads the first line of a bag, of version 0 all three lines.
func (s *Stream) Version(anyMinor bool) (BagVersion, error) {
	b, err := s.R.Peek(MaxVersionLineBytes)
	if err != nil && !IsEnd(err) {
		return BagVersion{}, ReadError(0, err)
	}
	end := bytes.IndexByte(b, '\n')
	switch {
	case len(b) == 0:
		return BagVersion{}, notBag(b)
	case bytes.HasPrefix(b, []byte(mcapStart)):
		return s.mcapVersion(b)
	case b[0] != '#':
		return readVersionZero(s)
	case end < 0 && len(b) < MaxVersionLineBytes && startsLine(b):
		return BagVersion{}, Torn(0, 0, "version line", int64(len(b)), int64(len(VersionLine)))
	case end < 0:
		return BagVersion{}, notBag(b)
	}
	v, err := parseVersion(string(b[:end+1]), anyMinor)
	if errors.Is(err, rosbag.ErrNotBag) && topicCountFollows(s, end+1) {
		// The players of the time took any line that starts with # for this version.
		v, err = BagVersion{Name: "1.0", Layout: LayoutV10, Elapsed: true}, nil
	}
	if err != nil {
		return v, err
	}
	return v, s.Skip(int64(end+1), 0, 0)
}

// startsLine reports whether b is the start of a known first line.
func startsLine(b []byte) bool {
	for _, line := range firstLines {
		if strings.HasPrefix(line, string(b)) {
			return true
		}
	}
	return false
}

// parseVersion returns the version of a bag with that first line.
func parseVersion(line string, anyMinor bool) (BagVersion, error) {
	if line == multilogLine {
		return BagVersion{Name: "1.0", Layout: LayoutV10, Elapsed: true}, nil
	}
	m := versionRE().FindStringSubmatch(line)
	if m == nil {
		return BagVersion{}, notBag([]byte(line))
	}
	v := BagVersion{Name: m[1] + "." + m[2]}
	switch {
	case v.Name == "1.0":
		v.Layout, v.Elapsed = LayoutV10, true
	case v.Name == "1.1":
		// Of the two recorders only the first one stamped elapsed time.
		v.Layout, v.Elapsed = LayoutV11, strings.HasPrefix(line, "#ROSLOG")
	case v.Name == "1.2":
		v.Layout = LayoutV12
	case v.Name == "2.0" || m[1] == "2" && anyMinor:
		v.Layout = LayoutV2
	default:
		return v, &rosbag.VersionError{Version: v.Name}
	}
	return v, nil
}

// BagHeader reads the header of the bag header record, and leaves the stream before
// that record's data.
func (s *Stream) BagHeader() (h RecordHeader, err error) {
	start := s.Off
	switch err := s.Next(&h); {
	case errors.Is(err, io.EOF):
		return h, Torn(start, rosbag.OpBagHeader, "header", 0, BagHeaderBytes)
	case err != nil:
		return h, err
	case h.Op != rosbag.OpBagHeader:
		return h, Corrupt(start, h.Op, "the first record is not a bag header")
	}
	return h, nil
}

// Preamble reads what comes before the first record that matters in a 2.0 bag, and
// leaves the stream before the data of its bag header. Other versions are an error.
func (s *Stream) Preamble(anyMinor bool) (version string, h RecordHeader, err error) {
	v, err := s.Version(anyMinor)
	if err == nil && v.Layout != LayoutV2 {
		err = &rosbag.VersionError{Version: v.Name}
	}
	if err == nil {
		h, err = s.BagHeader()
	}
	return v.Name, h, err
}

// Layout is how the records of a file are laid out.
type Layout uint8

// The layouts of all versions.
const (
	LayoutV2   Layout = iota
	LayoutV0          // three lines, then messages of one topic
	LayoutV10         // a table of topics; messages name their topic
	LayoutV11         // messages carry topic, md5sum and type as lines
	LayoutV12         // records with headers
	LayoutMCAP        // records of MCAP
)

// OldConnection makes a connection with the fields that all versions have.
func OldConnection(id rosbag.ConnID, topic, typ, md5 string) *rosbag.Connection {
	return &rosbag.Connection{ID: id, Topic: topic, Header: rosbag.Header{
		{Key: rosbag.KeyTopic, Value: topic},
		{Key: rosbag.KeyType, Value: typ},
		{Key: rosbag.KeyMD5Sum, Value: md5},
	}}
}

// MCAPMagic is what an MCAP file begins and ends with.
const MCAPMagic = mcapStart + "0\r\n"

// mcapStart comes before the digit of the version.
const mcapStart = "\x89MCAP"

// mcapVersion reads the magic of an MCAP file, which b begins with.
func (s *Stream) mcapVersion(b []byte) (BagVersion, error) {
	switch {
	case bytes.HasPrefix(b, []byte(MCAPMagic)):
		return BagVersion{Name: "mcap", Layout: LayoutMCAP}, s.Skip(int64(len(MCAPMagic)), 0, 0)
	case len(b) < len(MCAPMagic):
		return BagVersion{}, Torn(0, 0, "magic", int64(len(b)), int64(len(MCAPMagic)))
	}
	return BagVersion{},
		&rosbag.VersionError{Version: fmt.Sprintf("MCAP %q", b[len(mcapStart):len(mcapStart)+1])}
}
