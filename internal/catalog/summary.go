// Package catalog keeps a summary of each bag in a place: a directory, or a folder of object storage. With a
// catalog some tens of requests are enough to search thousands of bags.
//
// A summary is a line of JSON. The summaries of the bags below a folder are in its subfolder
// .gorosbag-catalog, in files of such lines that are compressed with gzip. Each upload of a bag writes a file
// with one line; from time to time small files are merged into a larger one. The name of a file is never used
// again, and a file is deleted only after its lines were written to another file. So a crash at any time may
// leave a summary twice, of which the newest counts, but loses none. The catalog is a cache: a bag that has no
// summary, or another size than its summary says, is read.
package catalog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/naming"
	"github.com/gorosbag/gorosbag/internal/store"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Summary is what the catalog says about a bag.
type Summary struct {
	Bag      string            `json:"bag"` // path below the folder that has the catalog
	Size     int64             `json:"size"`
	SHA256   string            `json:"sha256"` // in hexadecimal; empty if unknown
	Robot    string            `json:"robot"`  // the note "robot", otherwise the machine that uploaded the bag; may be empty
	Start    float64           `json:"start"`  // of the earliest message, in seconds since 1970; 0 without messages
	End      float64           `json:"end"`    // of the latest message
	Messages uint64            `json:"messages"`
	Topics   []Topic           `json:"topics"` // with messages, by name and type
	Notes    map[string]string `json:"notes"`
	Error    string            `json:"error"`   // why the bag cannot be read; empty if it can
	Written  time.Time         `json:"written"` // when this summary was made
}

// Topic is a topic of a bag.
type Topic struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages uint64 `json:"messages"`
}

// Summarize reads the index of a bag. If the content of the file is not that of a sound bag, the summary says
// so in Error. The error that Summarize returns is one of reading the file.
func Summarize(file io.ReaderAt, size int64, o bagfmt.ReaderOptions) (*Summary, error) {
	r, err := bagfmt.NewReader(file, size, o)
	return summarize(r, err, size)
}

// summarize is Summarize for a recording that was opened with the error err.
func summarize(r rosbag.Source, err error, size int64) (*Summary, error) {
	s := &Summary{Size: size, Topics: []Topic{}, Notes: map[string]string{}, Written: time.Now().UTC()}
	if err == nil {
		err = s.describe(r)
	}
	if err != nil && !unfit(err) {
		return nil, err
	}
	if err != nil {
		s.Error = err.Error()
	}
	return s, nil
}

// unfit reports whether an error is about the content of a file, rather than about reading the file.
func unfit(err error) bool {
	for _, known := range []error{rosbag.ErrNotBag, rosbag.ErrVersion, rosbag.ErrCorrupt, rosbag.ErrUnindexed, rosbag.ErrEncrypted} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func (s *Summary) describe(r rosbag.Source) error {
	info := r.Info()
	s.Messages = info.Messages
	if s.Messages > 0 {
		s.Start, s.End = seconds(info.Start), seconds(info.End)
	}
	counts := rosbag.Counts(r)
	topics := map[[2]string]uint64{}
	for _, c := range r.Connections() {
		if n := counts[c]; n > 0 {
			topics[[2]string{c.Topic, c.Header.Type()}] += n
		}
	}
	for key, n := range topics {
		s.Topics = append(s.Topics, Topic{key[0], key[1], n})
	}
	slices.SortFunc(s.Topics, func(a, b Topic) int { return strings.Compare(a.Topic+"\x00"+a.Type, b.Topic+"\x00"+b.Type) })
	notes, err := bagnote.ReadNotes(r, func(err error) error { return err })
	for _, n := range notes {
		s.Notes[n.Key] = n.Value
	}
	s.Robot = s.Notes["robot"]
	return err
}

// seconds returns a time in seconds, cut to microseconds: a float64 has no room for more digits.
func seconds(t rosbag.Time) float64 { return float64(t.Sec) + float64(t.Nsec/1000)/1e6 }

// host is the key of the host name in the metadata of objects.
const host = "host"

// Metadata returns the metadata for the object of a bag in a store: the notes that the bag has now, and the
// name of this machine. With an error it returns the name alone.
func Metadata(file io.ReaderAt, size int64) (map[string]string, error) {
	m := map[string]string{}
	r, err := bagfmt.NewReader(file, size, bagfmt.ReaderOptions{IndexOnly: true})
	if err == nil {
		var notes []bagnote.Note
		notes, err = bagnote.ReadNotes(r, func(err error) error { return err })
		if found := bagnote.Metadata(notes); found != nil {
			m = found
		}
	}
	m[host] = thisHost()
	return m, err
}

// thisHost returns the name of this machine as it can stand in metadata.
func thisHost() string {
	name := url.QueryEscape(naming.Host())
	return name[:min(len(name), 64)]
}

// encode returns the content of a file of the catalog.
func encode(lines []*Summary) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for _, s := range lines {
		if err := enc.Encode(s); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

const (
	maxLineBytes = 4 << 20   // of the line of a summary; a bag with thousands of topics has a long one
	maxFileBytes = 256 << 20 // of a file of the catalog, unpacked; packs writes smaller ones
	summaryBytes = 1 << 10   // memory of a summary beside its texts, topics and notes, at most
	topicBytes   = 128       // memory of a topic or a note beside its texts
)

// overhead returns about how many bytes of memory a summary takes beside its texts.
func (s *Summary) overhead() int64 {
	return int64(summaryBytes + topicBytes*(len(s.Topics)+len(s.Notes)))
}

// memory returns about how many bytes of memory a summary takes.
func (s *Summary) memory() int64 {
	text := len(s.Bag) + len(s.Robot) + len(s.Error)
	for _, t := range s.Topics {
		text += len(t.Topic) + len(t.Type)
	}
	for key, value := range s.Notes {
		text += len(key) + len(value)
	}
	return s.overhead() + int64(text)
}

var errFileTooLong = fmt.Errorf("%w: far longer, when it is unpacked, than a file of a catalog is", store.ErrTooLarge)

// decode returns the summaries in the content of a file. The content may unpack to at most most bytes, which
// bound the memory of the summaries, too. With an error it returns the summaries before the damage.
func decode(data []byte, most int64) (lines []*Summary, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	left := &io.LimitedReader{R: z, N: most}
	scanner := bufio.NewScanner(left)
	scanner.Buffer(nil, maxLineBytes)
	for scanner.Scan() {
		s := new(Summary)
		if err := json.Unmarshal(scanner.Bytes(), s); err != nil {
			if left.N == 0 {
				break // the limit cut the line
			}
			return lines, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		lines = append(lines, s)
		if left.N -= s.overhead(); left.N < 0 {
			left.N = 0
			break
		}
	}
	if left.N == 0 {
		return lines, errFileTooLong
	}
	return lines, scanner.Err()
}
