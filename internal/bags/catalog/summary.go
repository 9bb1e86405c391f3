// Package catalog keeps a summary of each bag of a place in object storage or of a directory, so
// that thousands of bags are searched with some tens of requests.
//
// A summary is a line of JSON. The summaries of the bags below a folder are in the folder
// .gorosbag-catalog beside them, in files of such lines compressed by gzip: one file for each bag
// that was just uploaded, and larger files into which these are merged from time to time. Names are
// never used twice, and a file is deleted only after its lines were written to another one. A line
// may therefore exist twice, and then the newest counts, but no line is lost when a program dies. The
// bags decide: a bag without a summary, or with a summary of another size, is read.
//
// Decisions: ADR 0065.
package catalog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Summary describes a bag in the catalog.
type Summary struct {
	// name below the folder with the catalog
	Bag  string `json:"bag"`
	Size int64  `json:"size"`
	// in hexadecimal; empty if unknown
	SHA256 string `json:"sha256"`
	// the note "robot", otherwise the machine that uploaded the bag; may be empty
	Robot string `json:"robot"`
	// of the earliest message, in seconds since 1970; 0 without messages
	Start float64 `json:"start"`
	// of the latest message
	End      float64 `json:"end"`
	Messages uint64  `json:"messages"`
	// with messages, by name and type
	Topics []Topic           `json:"topics"`
	Notes  map[string]string `json:"notes"`
	// the texts of the first maxMarks; summaries of older versions have none
	Marks []string `json:"marks,omitempty"`
	// why the bag cannot be read; empty if it can
	Error string `json:"error"`
	// when this summary was made
	Written time.Time `json:"written"`
}

// Topic is a topic of a bag.
type Topic struct {
	Topic    string `json:"topic"`
	Type     string `json:"type"`
	Messages uint64 `json:"messages"`
}

// Summarize reads the index of a bag. For a file that is not a good bag it returns a summary with an
// Error; the returned error means that reading failed.
func Summarize(file io.ReaderAt, size int64, o bagfmt.ReaderOptions) (*Summary, error) {
	r, err := bagfmt.NewReader(file, size, o)
	return summarize(r, err, size)
}

// maxMarks is how many marks a summary has: each may be in a chunk of its own, which costs a request in a
// store.
const maxMarks = 100

// encrypted is the Error of an encrypted bag. No key is asked for: everybody who can read the catalog
// would see the topics and notes of the bag.
const encrypted = "encrypted bag: the catalog, which is not encrypted, does not list what is in it"

// summarize describes a recording, or says why it could not be opened.
func summarize(r rosbag.Source, err error, size int64) (*Summary, error) {
	s := &Summary{Size: size, Topics: []Topic{}, Notes: map[string]string{}, Written: time.Now().UTC()}
	if err == nil {
		err = s.describe(r)
	}
	if err != nil && !unfit(err) {
		return nil, err
	}
	switch {
	case errors.Is(err, rosbag.ErrEncrypted):
		s.Error = encrypted
	case err != nil:
		s.Error = err.Error()
	}
	return s, nil
}

// unfit reports whether an error is about the content of a file, not about reading it.
func unfit(err error) bool {
	for _, known := range []error{
		rosbag.ErrNotBag, rosbag.ErrVersion, rosbag.ErrCorrupt, rosbag.ErrUnindexed,
		rosbag.ErrEncrypted,
	} {
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
	slices.SortFunc(s.Topics,
		func(a, b Topic) int { return strings.Compare(a.Topic+"\x00"+a.Type, b.Topic+"\x00"+b.Type) })
	notes, err := note.ReadNotes(r, func(err error) error { return err })
	for _, n := range notes {
		s.Notes[n.Key] = n.Value
	}
	s.Robot = s.Notes["robot"]
	if err != nil {
		return err
	}
	marks, _, err := note.FirstMarks(r, maxMarks, func(err error) error { return err })
	for _, m := range marks {
		s.Marks = append(s.Marks, m.Text)
	}
	return err
}

// seconds returns a time with microseconds, the precision of a float64 for times of today.
func seconds(t rosbag.Time) float64 { return float64(t.Sec) + float64(t.Nsec/1000)/1e6 }

// host is the key of the name of this machine in the metadata of objects.
const host = "host"

// Metadata returns the metadata for the object of a bag: the present notes of the bag, and the name of
// this machine.
func Metadata(file io.ReaderAt, size int64) (map[string]string, error) {
	m := map[string]string{}
	r, err := bagfmt.NewReader(file, size, bagfmt.ReaderOptions{IndexOnly: true})
	if err == nil {
		var notes []note.Note
		notes, err = note.ReadNotes(r, func(err error) error { return err })
		if found := note.Metadata(notes); found != nil {
			m = found
		}
	}
	m[host] = thisHost()
	return m, err
}

// thisHost returns the name of this machine in a form that metadata permits.
func thisHost() string {
	name := url.QueryEscape(files.Host())
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
	maxLineBytes = 4 << 20   // of a summary: a bag of thousands of topics has a long one
	maxFileBytes = 256 << 20 // of a file of the catalog, unpacked: more than packs puts into one file
	summaryBytes = 1 << 10   // of memory, at most, beside the text
	topicBytes   = 128       // of a topic or a note
)

// overhead returns the bytes of memory that a summary takes beside its text, about.
func (s *Summary) overhead() int64 {
	return int64(summaryBytes + topicBytes*(len(s.Topics)+len(s.Notes)))
}

// memory returns the bytes of memory that a summary takes, about.
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

var errFileTooLong = fmt.Errorf("%w: unpacks to far more bytes than a file of a catalog has",
	store.ErrTooLarge)

// decode reads a file of the catalog that unpacks to at most most bytes, and takes no more memory.
// If the file is damaged, decode returns the summaries before the damage with the error.
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
		if !fs.ValidPath(s.Bag) { // others write these files, and a name is used as a path
			return lines, fmt.Errorf("line %d: %.80q is no name of a bag below the place", len(lines)+1,
				s.Bag)
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
