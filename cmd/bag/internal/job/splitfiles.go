package job

import (
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// SplitFiles creates the files that a bag is split into.
type SplitFiles struct {
	Prefix  string // what all names begin with
	Input   string // path of the bag, which none of the files may replace
	Options bagfmt.WriterOptions
	Force   bool // overwrite files that exist

	files []*files.File
	taken map[string]bool // names
}

// Open creates a file, as rewrite.NewSplit demands.
func (s *SplitFiles) Open(number int, topic string) (*rewrite.SplitFile, error) {
	path := s.name(number, topic)
	if err := files.NotInput(path, []string{s.Input}); err != nil {
		return nil, fmt.Errorf("%s %w", wording.Shown(path), err)
	}
	f, err := files.Create(path, s.Force)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", wording.Shown(path), err)
	}
	s.files = append(s.files, f)
	sink, err := rewrite.NewBag(f.File, s.Options)
	if err != nil {
		return nil, err
	}
	return &rewrite.SplitFile{Sink: sink, Size: sink.Size, Done: f.Commit}, nil
}

// name returns the path of a file. Topics are untrusted: characters that a file name
// must not contain become _.
func (s *SplitFiles) name(number int, topic string) string {
	if topic == "" {
		return fmt.Sprintf("%s_%03d.bag", s.Prefix, number)
	}
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, strings.TrimPrefix(topic, "/"))
	plain = plain[:min(len(plain), 150)]
	path := fmt.Sprintf("%s_%s.bag", s.Prefix, plain)
	for n := 2; s.taken[path]; n++ { // /a/b and /a_b
		path = fmt.Sprintf("%s_%s_%d.bag", s.Prefix, plain, n)
	}
	if s.taken == nil {
		s.taken = make(map[string]bool)
	}
	s.taken[path] = true
	return path
}

// Abort removes the files that are not complete.
func (s *SplitFiles) Abort() {
	for _, f := range s.files {
		f.Abort()
	}
}
