package bagjob

import (
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/rebag"
)

// Parts makes the files of the parts that a bag is split into.
type Parts struct {
	Prefix  string // what all names begin with
	Input   string // path of the bag, which no part takes the place of
	Options bagfmt.WriterOptions
	Force   bool // overwrite files that exist

	files []*newfile.File
	taken map[string]bool // names
}

// Open makes the file of a part, as rebag.NewSplit wants.
func (p *Parts) Open(number int, topic string) (*rebag.Part, error) {
	path := p.name(number, topic)
	if err := newfile.NotInput(path, []string{p.Input}); err != nil {
		return nil, fmt.Errorf("%s %w", explain.Name(path), err)
	}
	f, err := newfile.Create(path, p.Force)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", explain.Name(path), err)
	}
	p.files = append(p.files, f)
	sink, err := rebag.NewBag(f.File, p.Options)
	if err != nil {
		return nil, err
	}
	return &rebag.Part{Sink: sink, Size: sink.Size, Done: f.Commit}, nil
}

// name returns the file name of a part. Topics are untrusted: what a file name
// cannot have becomes _.
func (p *Parts) name(number int, topic string) string {
	if topic == "" {
		return fmt.Sprintf("%s_%03d.bag", p.Prefix, number)
	}
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, strings.TrimPrefix(topic, "/"))
	plain = plain[:min(len(plain), 150)]
	path := fmt.Sprintf("%s_%s.bag", p.Prefix, plain)
	for n := 2; p.taken[path]; n++ { // /a/b and /a_b
		path = fmt.Sprintf("%s_%s_%d.bag", p.Prefix, plain, n)
	}
	if p.taken == nil {
		p.taken = make(map[string]bool)
	}
	p.taken[path] = true
	return path
}

// Abort removes what is not complete.
func (p *Parts) Abort() {
	for _, f := range p.files {
		f.Abort()
	}
}
