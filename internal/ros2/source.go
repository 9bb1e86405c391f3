package ros2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/definitions"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/packed"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Source is a recording of ROS 2 as one of ROS 1. It implements rosbag.Indexed and rosbag.Latest.
type Source struct {
	files   []*translatedFile
	names   []string
	conns   []*rosbag.Connection
	reports []*TopicReport
	about   map[*TopicReport]*rosbag.Connection
	info    rosbag.Info
	spans   []place
	closers []io.Closer
}

// place is a span of a file.
type place struct{ file, span int }

// OpenOptions say how a recording is opened. The zero value is fine.
type OpenOptions struct {
	MaxMessageBytes int // zero means what db3 allows
	// Definitions has types that the recording lacks; nil has none.
	Definitions definitions.User
	// MCAP opens an MCAP file, with bagfmt.ReaderOptions.KeepForeign. The caller of Open has the
	// options for it.
	MCAP func(path string) (*bagfmt.Reader, io.Closer, error)
}

// IsDirectory reports whether path is a directory with a recording of ROS 2 in it.
func IsDirectory(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir() && rosbag2.IsRecording(os.DirFS(path))
}

// Open opens the recording in the directory at path, or in the db3 or packed file at path. Reading db3 files
// ends with ctx.
func Open(ctx context.Context, path string, o OpenOptions) (*Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	rec := &rosbag2.Recording{Storage: rosbag2.SQLite, Files: []string{""}}
	if strings.HasSuffix(path, ".mcap"+rosbag2.PackedSuffix) {
		rec.Storage = rosbag2.MCAP
	}
	if st.IsDir() {
		if rec, err = rosbag2.ReadDirectory(os.DirFS(path)); err != nil {
			return nil, err
		}
	}
	distro, qos := mapping.Jazzy, map[string]string{}
	if md := rec.Metadata; md != nil {
		if d, err := mapping.ParseDistro(md.Distro); err == nil {
			distro = d
		}
		for _, t := range md.Topics {
			qos[t.Name] = t.QoS
		}
		if md.CompressionMode == "message" && md.CompressionFormat != "zstd" {
			return nil, fmt.Errorf("its messages are packed with %q; zstd can be read", md.CompressionFormat)
		}
	}
	s := &Source{info: rosbag.Info{Damage: asDamage(rec.Damage)}}
	t, err := s.translator(distro, o)
	if err != nil {
		return nil, err
	}
	s.info.Notes = rec.Notes
	for _, name := range rec.Files {
		file := filepath.Join(path, name)
		r, err := s.open(ctx, file, rec.Storage, o)
		if err != nil {
			if st.IsDir() {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return nil, errors.Join(err, s.Close())
		}
		t.use(r)
		s.names = append(s.names, file)
	}
	s.finish(t, qos)
	return s, nil
}

// NewSource returns the recording in an open MCAP file. Its channels of ROS 1 stay as they are.
func NewSource(name string, r *bagfmt.Reader, o OpenOptions) (*Source, error) {
	s := &Source{}
	t, err := s.translator(mapping.Jazzy, o)
	if err != nil {
		return nil, err
	}
	t.use(r)
	s.names = []string{name}
	s.finish(t, nil)
	return s, nil
}

func (s *Source) translator(d mapping.Distro, o OpenOptions) (*translator, error) {
	types, err := definitions.New(d, o.Definitions)
	if err != nil {
		return nil, err
	}
	t := newTranslator(types)
	if o.MaxMessageBytes > 0 {
		t.maxBytes = min(t.maxBytes, o.MaxMessageBytes)
	}
	return t, nil
}

func asDamage(all []error) (list []error) {
	for _, err := range all {
		list = append(list, damage(err))
	}
	return list
}

// open opens a storage file.
func (s *Source) open(ctx context.Context, path, storage string, o OpenOptions) (raw, error) {
	if strings.HasSuffix(path, rosbag2.PackedSuffix) {
		f, err := packed.Unpack(ctx, path)
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, f)
		switch {
		case storage == rosbag2.MCAP:
			defer f.Close() //nolint:errcheck // it is opened once, and needs no name then
			if f.Damage != nil {
				s.info.Damage = append(s.info.Damage,
					damage(fmt.Errorf("%s: %w", filepath.Base(path), f.Damage)))
			}
		case f.Damage != nil: // a part of a database is none
			return nil, f.Damage
		}
		path = f.Name()
	}
	if storage == rosbag2.SQLite {
		return openDatabase(ctx, path, db3.Options{MaxMessageBytes: o.MaxMessageBytes})
	}
	r, closer, err := o.MCAP(path)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, closer)
	return r, nil
}

// finish translates the files of t, and describes the recording. qos has the quality of service of topics.
func (s *Source) finish(t *translator, qos map[string]string) {
	for number := range t.files {
		f := newTranslatedFile(number, t, qos)
		for i := range f.spans {
			s.spans = append(s.spans, place{number, i})
		}
		s.files = append(s.files, f)
	}
	damage, notes := s.info.Damage, s.info.Notes
	var files []rosbag.File
	for i, f := range s.files {
		files = append(files, rosbag.FileOf(s.names[i], f.raw))
	}
	s.info = rosbag.NewSequence(files, rosbag.SequenceOptions{}).Info()
	t.settle()
	s.info.Damage = slices.Concat(damage, s.info.Damage, t.damage)
	s.info.Notes = slices.Concat(notes, s.info.Notes, t.notes)
	s.conns, s.reports, s.about = t.conns, t.reports, t.about
	s.info.Version = version(files)
	s.info.Messages = 0 // only those that can be translated count
	for _, n := range rosbag.Counts(s) {
		s.info.Messages += n
	}
}

// version says what the recording is, for example "ROS 2, sqlite3 of schema 4".
func version(files []rosbag.File) string {
	if len(files) == 0 {
		return "ROS 2"
	}
	info := files[0].Info
	if info.Format != "db3" {
		return "ROS 2, " + info.Format
	}
	if info.Version == "0" { // before humble
		return "ROS 2, " + rosbag2.SQLite
	}
	return "ROS 2, " + rosbag2.SQLite + " of schema " + info.Version
}

// Info implements rosbag.Source.
func (s *Source) Info() rosbag.Info { return s.info }

// Connections implements rosbag.Source.
func (s *Source) Connections() []*rosbag.Connection { return s.conns }

// NumSpans implements rosbag.Source.
func (s *Source) NumSpans() int { return len(s.spans) }

// Span implements rosbag.Source.
func (s *Source) Span(i int) *rosbag.Span {
	p := s.spans[i]
	return &s.files[p.file].spans[p.span]
}

// Cursor implements rosbag.Source.
func (s *Source) Cursor(q rosbag.Query) rosbag.Cursor {
	if len(s.files) == 1 {
		return s.files[0].Cursor(q)
	}
	var files []rosbag.File
	for i, f := range s.files {
		info := f.raw.Info()
		files = append(files,
			rosbag.File{Name: s.names[i], Info: &info, Open: func(q rosbag.Query) (rosbag.Cursor, error) {
				return f.Cursor(q), nil
			}})
	}
	all := rosbag.NewSequence(files, rosbag.SequenceOptions{})
	all.SetFilter(q)
	return all
}

// Index implements rosbag.Indexed.
func (s *Source) Index(i int, keep func(*rosbag.Connection) bool) ([]rosbag.Entry, error) {
	p := s.spans[i]
	return s.files[p.file].index(p.span, keep)
}

// Latest implements rosbag.Latest.
func (s *Source) Latest(t rosbag.Time, keep func(*rosbag.Connection) bool) iter.Seq2[*rosbag.Connection,
	rosbag.Found] {
	if len(s.files) == 1 {
		return s.files[0].latest(t, keep)
	}
	return func(yield func(*rosbag.Connection, rosbag.Found) bool) {
		all := map[*rosbag.Connection]rosbag.Found{}
		for _, f := range s.files {
			for c, found := range f.latest(t, keep) {
				old := all[c]
				if old.Err != nil && found.Err == nil {
					found.Err = old.Err
				}
				if m := old.Message; m != nil && (found.Message == nil || found.Message.Time.Before(m.Time)) {
					found.Message = m
				}
				all[c] = found
			}
		}
		for _, c := range s.conns {
			if found, ok := all[c]; ok && !yield(c, found) {
				return
			}
		}
	}
}

// Report returns what became of each topic that keep selects; nil selects all. written has the number of
// messages written of each connection, and rename returns the name that a topic was written under; nil keeps
// the names. The report also counts the messages that all cursors so far could not translate. No cursor may
// be reading during the call.
func (s *Source) Report(written map[*rosbag.Connection]uint64, keep func(*rosbag.Connection) bool,
	rename func(*rosbag.Connection) string,
) *Report {
	all := &Report{}
	for _, r := range s.reports {
		one, c := *r, s.about[r]
		if keep != nil && !keep(c) {
			continue
		}
		one.Out = written[c]
		one.In += one.Out
		if rename != nil && one.OutTopic != "" {
			one.OutTopic = rename(c)
		}
		all.Topics = append(all.Topics, &one)
	}
	return all
}

// Dropped says which fields of messages that keep selects ROS 1 does not have; nothing if there are none.
func (s *Source) Dropped(keep func(*rosbag.Connection) bool) []error {
	var fields []string
	for _, r := range s.reports {
		if !keep(s.about[r]) {
			continue
		}
		for _, n := range r.Notes {
			if n.Change == mapping.FieldDropped {
				fields = append(fields, n.Type+"."+n.From)
			}
		}
	}
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	return []error{fmt.Errorf("fields that ROS 1 does not have are not shown: %s",
		strings.Join(slices.Compact(fields), ", "))}
}

// metadataRecord is the name of the metadata record in which rosbag2 keeps a copy of metadata.yaml.
const metadataRecord = "rosbag2"

// MCAP returns what the MCAP files of the recording have beside messages, without the metadata record that
// is part of every recording, and the profile and library of the first file; nil if there are no such files.
func (s *Source) MCAP() *rosbag.MCAPInfo {
	var all *rosbag.MCAPInfo
	for _, f := range s.files {
		r, ok := f.raw.(*bagfmt.Reader)
		if !ok {
			continue
		}
		m := r.MCAP()
		if m == nil { // a bag under the name of such a file
			continue
		}
		if all == nil {
			all = &rosbag.MCAPInfo{Profile: m.Profile, Library: m.Library}
		}
		all.Attachments = append(all.Attachments, m.Attachments...)
		for _, x := range m.Metadata {
			if x.Name != metadataRecord {
				all.Metadata = append(all.Metadata, x)
			}
		}
	}
	return all
}

// Close closes the files that Open has opened.
func (s *Source) Close() error {
	var all []error
	for _, c := range s.closers {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}
