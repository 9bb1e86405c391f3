package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagopen"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/newfile"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/rebag"
)

// packFlags are the options for compression and chunks of the output.
type packFlags struct {
	Compression string `enum:",none,lz4,bz2,zstd" default:"" placeholder:"KIND" help:"Compress chunks with none, lz4 or bz2; in MCAP with none, lz4 or zstd. Default: as the input, zstd in MCAP."`
	ChunkSize   int    `name:"chunksize" default:"768" placeholder:"KiB" help:"Size of a chunk before compression (${default})."`
}

// writerOptions returns the options of a bag made from inputs.
func (f packFlags) writerOptions(inputs []*bagopen.Recording) (bagfmt.WriterOptions, error) {
	o := bagfmt.WriterOptions{Compression: bagfmt.Compression(f.Compression), Workers: workers()}
	switch f.Compression {
	case "zstd":
		return o, errors.New("a bag cannot be compressed with zstd; take lz4 or bz2, or write MCAP")
	case "":
		o.Compression = commonCompression(inputs)
	}
	var err error
	o.ChunkBytes, err = f.chunkBytes()
	return o, err
}

// newMCAP starts an MCAP file.
func (f packFlags) newMCAP(w io.Writer) (rebag.Sink, error) {
	if f.Compression == "bz2" {
		return nil, errors.New("MCAP cannot be compressed with bz2; take zstd, lz4 or none")
	}
	chunk, err := f.chunkBytes()
	if err != nil {
		return nil, err
	}
	return rebag.NewMCAP(w, f.Compression, chunk)
}

// maxChunkKB is 1 GiB: what is larger, readers need not accept.
const maxChunkKB = 1 << 20

func (f packFlags) chunkBytes() (int, error) {
	if f.ChunkSize < 0 || f.ChunkSize > maxChunkKB {
		return 0, fmt.Errorf("--chunksize %d is not between 0 and %d", f.ChunkSize, maxChunkKB)
	}
	return max(f.ChunkSize*1024, 1), nil
}

// commonCompression returns the most frequent compression of the chunks of inputs.
func commonCompression(inputs []*bagopen.Recording) bagfmt.Compression {
	count := make(map[bagfmt.Compression]int)
	best := bagfmt.CompressionNone
	for _, in := range inputs {
		if in.Bag == nil || in.Bag.Version() != "2.0" {
			continue
		}
		chunks := len(in.Bag.Chunks())
		for n := range min(chunks, 100) { // a sample is enough
			h, err := in.Bag.ChunkHeader(n)
			if _, e := bagfmt.ParseCompression(string(h.Compression)); err != nil || e != nil {
				continue
			}
			count[h.Compression]++
			if count[h.Compression] > count[best] {
				best = h.Compression
			}
		}
	}
	return best
}

// workers is the number of chunks that are compressed or decompressed concurrently.
func workers() int { return min(runtime.GOMAXPROCS(0), 64) }

// openSource opens the bag that path names; "-" is standard input.
func (j *job) openSource(path string) (*bagopen.Recording, error) {
	if path != "-" {
		return j.open(path)
	}
	if isTerminal(j.stdin) {
		return nil, errors.New("standard input is a terminal; send a bag into it")
	}
	return bagopen.OpenPipe(j.ctx, j.stdin, j.openOptions())
}

// openSources opens all inputs, or none.
func (j *job) openSources(paths []string) ([]*bagopen.Recording, error) {
	if first := slices.Index(paths, "-"); first >= 0 && slices.Contains(paths[first+1:], "-") {
		return nil, errors.New("standard input can be read only once")
	}
	var all []*bagopen.Recording
	for _, path := range paths {
		s, err := j.openSource(path)
		if err != nil {
			closeSources(all)
			return nil, j.failed(path, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func closeSources(all []*bagopen.Recording) {
	for _, s := range all {
		_ = s.Close() // only read from
	}
}

// copyInto copies inputs to sink and shows the progress. It returns errors of the output, ready
// for the user; damage of inputs is reported and not returned.
func (j *job) copyInto(sink rebag.Sink, title string, inputs []*bagopen.Recording, o rebag.Options) (rebag.Summary, error) {
	var list []rebag.Input
	var total int64
	for _, s := range inputs {
		in := rebag.Input{Name: s.Name, Scanner: s.Pipe}
		if s.Bag != nil {
			in.Source = s.Bag
		}
		list = append(list, in)
		total += s.Size
	}
	o.Workers = workers()
	o.Damaged = j.damaged
	j.meter.begin(title, total)
	sum, err := rebag.Copy(list, o, sink)
	j.meter.clear()
	if j.ctx.Err() != nil {
		err = j.ctx.Err()
	}
	if err != nil && !errors.Is(err, errReported) {
		err = explain.Error(err)
	}
	return sum, err
}

// damaged reports damage of an input. It returns an error if the job was interrupted, and an error
// of a store.
func (j *job) damaged(input string, err error) error {
	if j.ctx.Err() != nil {
		return j.ctx.Err()
	}
	if explain.OfStore(err) {
		return j.failed(input, explain.Error(err))
	}
	j.lost(input, err)
	return nil
}

// plan is what rewrite does.
type plan struct {
	inputs  []*bagopen.Recording
	out     string
	mcap    bool // instead of a bag
	pack    packFlags
	options rebag.Options
	finish  func(selected uint64) error // may reject the result before it is renamed; nil accepts it. selected counts the messages, also repeated ones
}

// rewrite copies inputs into one output.
func (j *job) rewrite(p plan) error {
	t, err := j.create(p.out)
	if err != nil {
		return j.failed(p.out, err)
	}
	defer t.abort()
	sink, err := p.sink(t.w)
	if err != nil {
		return err
	}
	sum, err := j.copyInto(sink, "Writing "+filepath.Base(p.out), p.inputs, p.options)
	if err == nil && p.finish != nil {
		if err = p.finish(sum.Messages + sum.Repeated); err != nil {
			err = fmt.Errorf("not written: %w", err)
		}
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		return j.failed(p.out, err)
	}
	out := p.out
	if out == "-" {
		out = "standard output"
	}
	for _, in := range p.inputs {
		if in.Elapsed() {
			j.say("%s: times count from the start of the recording, as in %s", explain.Name(out), explain.Name(in.Name))
		}
	}
	j.sayPlain(p.inputs)
	if types := typesWithoutDefinition(p.inputs); p.mcap && len(types) > 0 {
		j.say("%s: no reader can decode %s: the bag has no definition", explain.Name(out), strings.Join(types, ", "))
	}
	j.say("%s: %s%s%s", explain.Name(out), counted(sum.Messages), repeated(sum), leftOut(sum))
	return j.done()
}

// emptyMD5 is the md5sum of types without fields: their definition is empty.
const emptyMD5 = "d41d8cd98f00b204e9800998ecf8427e"

// typesWithoutDefinition lists types that the inputs have no definition of, for MCAP: readers of
// bags may know types by their md5sum.
func typesWithoutDefinition(inputs []*bagopen.Recording) []string {
	var types []string
	for _, in := range inputs {
		if in.Bag == nil {
			continue
		}
		for _, c := range in.Bag.Connections() {
			if h := c.Header; h.MessageDefinition() == "" && h.MD5Sum() != emptyMD5 && h.Type() != "std_msgs/Empty" {
				types = append(types, h.Type())
			}
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// sink starts the output.
func (p *plan) sink(w io.Writer) (rebag.Sink, error) {
	if p.mcap {
		return p.pack.newMCAP(w)
	}
	o, err := p.pack.writerOptions(p.inputs)
	if err != nil {
		return nil, err
	}
	return rebag.NewBag(w, o)
}

// target is the output of a command: a pending file or standard output.
type target struct {
	w    io.Writer // with WriteAt and Sync, unless it is standard output
	file *newfile.File
}

// create creates the target for path; "-" is standard output.
func (j *job) create(path string) (*target, error) {
	if path == "-" {
		if isTerminal(j.stdout) {
			return nil, errors.New("standard output is a terminal; redirect it to a file or a pipe")
		}
		return &target{w: struct{ io.Writer }{j.stdout}}, nil
	}
	f, err := newfile.Create(path, j.Force)
	if err != nil {
		return nil, err
	}
	return &target{w: f.File, file: f}, nil
}

// commit completes the target.
func (t *target) commit() error {
	if t.file == nil {
		return nil
	}
	return t.file.Commit()
}

// abort removes the file, unless it was committed.
func (t *target) abort() {
	if t.file != nil {
		t.file.Abort()
	}
}

// counted says how many messages.
func counted(messages uint64) string { return plural.Of(messages, "message") }

// repeated says how many latched messages come on top, if any.
func repeated(sum rebag.Summary) string {
	if sum.Repeated == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s repeated", plural.Of(sum.Repeated, "latched one"))
}

// leftOut says how many repeated messages are left out, if any.
func leftOut(sum rebag.Summary) string {
	if sum.LeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("; %s left out, as others of the bags have them", plural.Of(sum.LeftOut, "repeated latched message"))
}

// wantsMCAP reports whether the output is to be MCAP: by the format that was asked
// for, or by the name.
func wantsMCAP(to, out string) bool {
	return to == "mcap" || to == "" && strings.HasSuffix(out, ".mcap")
}
