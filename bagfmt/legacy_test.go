package bagfmt_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// oldBag is what the file beside a bag of testdata/old says about it.
type oldBag struct {
	File     string
	Version  string
	Defs     bool `json:"definitions_in_file"`
	Count    int  `json:"message_count"`
	Topics   map[string]oldTopic
	Messages []oldMessage
}

type oldTopic struct {
	Type  string
	MD5   string
	N     int
	First [2]uint32
	Last  [2]uint32
	Bytes int    `json:"payload_bytes"`
	Hash  string `json:"payload_sha256"`
}

type oldMessage struct {
	Topic     string
	Sec, Nsec uint32
	Len       int
	SHA256    string
}

// oldBags returns the names of all bags in testdata/old.
func oldBags(tb testing.TB) []string {
	tb.Helper()
	names, err := filepath.Glob("testdata/old/*.bag")
	if err != nil || len(names) != 39 {
		tb.Fatalf("%d bags, %v", len(names), err)
	}
	return names
}

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// summary is what was found in a bag, in the form of the description.
type summary struct {
	topics   map[string]oldTopic
	payload  map[string][]byte
	messages []oldMessage
}

func (s *summary) add(m *rosbag.Message) {
	if s.topics == nil {
		s.topics, s.payload = make(map[string]oldTopic), make(map[string][]byte)
	}
	sum := sha256.Sum256(m.Data())
	s.messages = append(s.messages, oldMessage{m.Conn.Topic, m.Time.Sec, m.Time.Nsec, len(m.Data()), hex.EncodeToString(sum[:])})
	t, known := s.topics[m.Conn.Topic]
	at := [2]uint32{m.Time.Sec, m.Time.Nsec}
	if !known { // players keep the first
		t = oldTopic{Type: m.Conn.Header.Type(), MD5: m.Conn.Header.MD5Sum(), First: at}
	}
	t.N++
	t.Last = at
	t.Bytes += len(m.Data())
	s.topics[m.Conn.Topic] = t
	s.payload[m.Conn.Topic] = append(s.payload[m.Conn.Topic], m.Data()...)
}

// finish computes the hashes over all payloads of a topic.
func (s *summary) finish() map[string]oldTopic {
	for topic, t := range s.topics {
		sum := sha256.Sum256(s.payload[topic])
		t.Hash = hex.EncodeToString(sum[:])
		s.topics[topic] = t
	}
	return s.topics
}

// cutBags are the ones that end inside a record.
func isCut(name string) bool {
	return strings.Contains(name, "truncated") || strings.Contains(name, "notclosed_cut") || strings.Contains(name, "cut_index")
}

// TestOldBags reads every bag of an old version as its description says.
func TestOldBags(t *testing.T) {
	t.Parallel()
	for _, name := range oldBags(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			var want oldBag
			if err := json.Unmarshal(readFile(t, strings.TrimSuffix(name, ".bag")+".json"), &want); err != nil {
				t.Fatal(err)
			}
			b := readFile(t, name)
			s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var found summary
			var errs []error
			for {
				m, err := s.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				found.add(m)
			}
			checkOld(t, "scanner", &want, &found, s.Version(), errs)

			r, err := openAny(b)
			if err != nil {
				t.Fatal(err)
			}
			errs = r.Info().Damage
			found = summary{}
			var inOrder []msg
			for m, err := range rosbag.Messages(r, rosbag.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				inOrder = append(inOrder, asMsg(m))
			}
			scanned, _ := scanAll(t, b)
			if d := cmp.Diff(byTime(scanned), inOrder); d != "" {
				t.Errorf("the Reader does not sort what the Scanner finds (-scanner +reader):\n%s", d)
			}
			for _, m := range scanned { // hashes are over the order of the file
				found.add(lookUp(t, r, m))
			}
			checkOld(t, "reader", &want, &found, r.Info().Version, errs)
			if r.Info().Messages != uint64(want.Count) {
				t.Errorf("%d messages, want %d", r.Info().Messages, want.Count)
			}
		})
	}
}

// lookUp finds m through Latest.
func lookUp(t *testing.T, r *bagfmt.Reader, m msg) *rosbag.Message {
	t.Helper()
	for _, c := range r.Connections() {
		if c.Topic != m.Topic {
			continue
		}
		found, err := lastOf(r, c.ID, m.Time)
		if err != nil {
			t.Fatal(err)
		}
		if found != nil && found.Time == m.Time && string(found.Data()) == m.Data {
			return found
		}
	}
	t.Fatalf("Latest does not find %v", m)
	return nil
}

func checkOld(t *testing.T, who string, want *oldBag, found *summary, version string, errs []error) {
	t.Helper()
	if version != want.Version {
		t.Errorf("%s: version %q, want %q", who, version, want.Version)
	}
	topics := found.finish()
	if len(topics) > 0 || len(want.Topics) > 0 {
		if d := cmp.Diff(want.Topics, topics); d != "" {
			t.Errorf("%s: topics (-want +got):\n%s", who, d)
		}
	}
	if d := cmp.Diff(want.Messages, found.messages); d != "" && len(want.Messages)+len(found.messages) > 0 {
		t.Errorf("%s: messages (-want +got):\n%s", who, d)
	}
	torn := false
	for _, err := range errs {
		if !typed(err) {
			t.Errorf("%s: untyped %v", who, err)
		}
		torn = torn || errors.Is(err, io.ErrUnexpectedEOF)
	}
	if torn != isCut(want.File) {
		t.Errorf("%s: errors %v", who, errs)
	}
}

// TestOldPipes scans old bags that come one byte at a time, and from a reader that fails.
func TestOldPipes(t *testing.T) {
	t.Parallel()
	for name, b := range smallOldBags() {
		want, _ := scanAll(t, b)
		for n := len(b); n >= 0; n -= 97 {
			r := iotest.OneByteReader(bytes.NewReader(b))
			if n < len(b) {
				r = &brokenReader{b, n}
			}
			var got []msg
			s, err := bagfmt.NewScanner(r, bagfmt.ScannerOptions{})
			for err == nil {
				var m *rosbag.Message
				if m, err = s.Next(); err == nil {
					got = append(got, asMsg(m))
				}
			}
			switch {
			case n == len(b):
				if !errors.Is(err, io.EOF) || !slices.Equal(want, got) {
					t.Errorf("%s, byte by byte: %d messages, %v", name, len(got), err)
				}
			case isEnd(err) || typed(err):
				t.Errorf("%s: a reader that fails at %d gives %v", name, n, err)
			case len(got) > len(want) || !slices.Equal(want[:len(got)], got):
				t.Errorf("%s: a reader that fails at %d gives %d messages, not the first ones", name, n, len(got))
			default:
				if s == nil {
					break // it failed before the first record
				}
				if _, err := s.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("%s: after the end: %v", name, err)
				}
			}
		}
	}
}

// isEnd reports whether err says that the input is over.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
