package bagfmt

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
)

// bagVersion is what the start of a file says about it.
type bagVersion struct {
	name    string // for example "1.2"
	layout  layout
	elapsed bool               // stamps count from the start of the recording
	single  *rosbag.Connection // of version 0: the only one
}

// firstLines are the first lines that writers of bags have written.
var firstLines = []string{
	versionLine, "#ROSRECORD V1.2\n", "#ROSRECORD V1.1\n", "#ROSLOG V1.1\n", "#ROSLOG V1.0\n", multilogLine,
}

// multilogLine is how version 1.0 looked before it got its number.
const multilogLine = "##MULTILOG##\n"

var versionRE = regexp.MustCompile(`^#ROS\S* V(\d+)\.(\d+)\s*$`)

// version reads the first line of a bag, of version 0 all three lines.
func (s *stream) version(anyMinor bool) (bagVersion, error) {
	b, err := s.r.Peek(maxVersionLineBytes)
	if err != nil && !isEnd(err) {
		return bagVersion{}, readError(0, err)
	}
	end := bytes.IndexByte(b, '\n')
	switch {
	case len(b) == 0:
		return bagVersion{}, notBag(b)
	case b[0] != '#':
		return readVersionZero(s)
	case end < 0 && len(b) < maxVersionLineBytes && startsLine(b):
		return bagVersion{}, torn(0, 0, "version line", int64(len(b)), int64(len(versionLine)))
	case end < 0:
		return bagVersion{}, notBag(b)
	}
	v, err := parseVersion(string(b[:end+1]), anyMinor)
	if errors.Is(err, rosbag.ErrNotBag) && topicCountFollows(s, end+1) {
		// The players of the time took any line that starts with # for this version.
		v, err = bagVersion{name: "1.0", layout: layoutV10, elapsed: true}, nil
	}
	if err != nil {
		return v, err
	}
	return v, s.skip(int64(end+1), 0, 0)
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
func parseVersion(line string, anyMinor bool) (bagVersion, error) {
	if line == multilogLine {
		return bagVersion{name: "1.0", layout: layoutV10, elapsed: true}, nil
	}
	m := versionRE.FindStringSubmatch(line)
	if m == nil {
		return bagVersion{}, notBag([]byte(line))
	}
	v := bagVersion{name: m[1] + "." + m[2]}
	switch {
	case v.name == "1.0":
		v.layout, v.elapsed = layoutV10, true
	case v.name == "1.1":
		// Of the two recorders only the first one stamped elapsed time.
		v.layout, v.elapsed = layoutV11, strings.HasPrefix(line, "#ROSLOG")
	case v.name == "1.2":
		v.layout = layoutV12
	case v.name == "2.0" || m[1] == "2" && anyMinor:
		v.layout = layoutV2
	default:
		return v, &rosbag.VersionError{Version: v.name}
	}
	return v, nil
}

// bagHeader reads the header of the bag header record, and leaves the stream before
// that record's data.
func (s *stream) bagHeader() (h recordHeader, err error) {
	start := s.off
	switch err := s.next(&h); {
	case errors.Is(err, io.EOF):
		return h, torn(start, rosbag.OpBagHeader, "header", 0, bagHeaderBytes)
	case err != nil:
		return h, err
	case h.op != rosbag.OpBagHeader:
		return h, corrupt(start, h.op, "the first record is not a bag header")
	}
	return h, nil
}

// preamble reads what comes before the first record that matters in a 2.0 bag, and
// leaves the stream before the data of its bag header. Other versions are an error.
func (s *stream) preamble(anyMinor bool) (version string, h recordHeader, err error) {
	v, err := s.version(anyMinor)
	if err == nil && v.layout != layoutV2 {
		err = &rosbag.VersionError{Version: v.name}
	}
	if err == nil {
		h, err = s.bagHeader()
	}
	return v.name, h, err
}

// layout is how the records of a file are laid out.
type layout uint8

const (
	layoutV2  layout = iota
	layoutV0         // three lines, then messages of one topic
	layoutV10        // a table of topics; messages name their topic
	layoutV11        // messages carry topic, md5sum and type as lines
	layoutV12        // records with headers
)

// oldConnection makes a connection with the fields that all versions have.
func oldConnection(id rosbag.ConnID, topic, typ, md5 string) *rosbag.Connection {
	return &rosbag.Connection{ID: id, Topic: topic, Header: rosbag.Header{
		{Key: rosbag.KeyTopic, Value: topic}, {Key: rosbag.KeyType, Value: typ}, {Key: rosbag.KeyMD5Sum, Value: md5},
	}}
}
