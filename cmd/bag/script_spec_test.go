package main

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/rosmsg/noetic"
)

// spec is a recording as a text of lines like these, where "# " begins a comment:
//
//	/odom  nav_msgs/Odometry  100..119/0.5                           a message each 0.5 s; all fields are 0
//	/text  std_msgs/String    100           callerid=/n latching=1 : hi  values in the order of the fields
//	/pose  my_msgs/Pose       100..109      : $i "a text" [1 2 3]    $i counts from 0, $t is the time
//	/json  -                  100           encoding=json : raw "{}" no definition; the payload as it is
//
// Fields before the colon are those of the connection header; "md5sum=" and the like change what the type
// says. The definition of my_msgs/Pose is in the file my_msgs/Pose.msg beside the text, or that of ROS. There
// may also be lines like
//
//	start 1500000000               is added to all times
//	chunk 2000                     bytes of a chunk; 0: MCAP without chunks
//	compression lz4
//	profile ros2                   of MCAP, as the next two
//	attachment map.png image/png 12345
//	metadata site a=b
type spec struct {
	dir      string
	start    time.Duration
	bag      bagfmt.WriterOptions
	mcap     mcap.WriterOptions
	profile  string
	extras   []func(w *mcap.Writer) error
	messages []specMessage
}

type specMessage struct {
	topic  string
	at     time.Duration
	header rosbag.Header
	data   []byte
}

// words splits a line. A word in double quotes is a Go string; brackets are words of their own.
func words(line string) (all []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case line == "" || strings.HasPrefix(line, "# ") || line == "#":
			return all, nil
		case line[0] == '[' || line[0] == ']':
			all, line = append(all, line[:1]), line[1:]
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			all, line = append(all, word), line[len(quoted):]
		default:
			n := strings.IndexAny(line, " \t]")
			if n < 0 {
				n = len(line)
			}
			all, line = append(all, line[:n]), line[n:]
		}
	}
}

func parseSpec(text, dir string) (*spec, error) {
	s := &spec{dir: dir, profile: "ros1", mcap: mcap.WriterOptions{Chunked: true}}
	for line := range strings.Lines(text) {
		all, err := words(strings.TrimRight(line, "\n"))
		if err == nil && len(all) > 0 {
			err = s.add(all)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	slices.SortStableFunc(s.messages, func(a, b specMessage) int { return int(a.at - b.at) })
	for i := range s.messages {
		s.messages[i].at += s.start
	}
	return s, nil
}

// add takes in a line.
func (s *spec) add(line []string) (err error) {
	switch {
	case line[0] == "start" && len(line) == 2:
		s.start, err = seconds(line[1])
	case line[0] == "chunk" && len(line) == 2:
		s.bag.ChunkBytes, err = strconv.Atoi(line[1])
		s.mcap.ChunkSize, s.mcap.Chunked = int64(s.bag.ChunkBytes), s.bag.ChunkBytes > 0
	case line[0] == "compression" && len(line) == 2:
		s.bag.Compression, s.mcap.Compression = rosbag.Compression(line[1]), mcap.CompressionFormat(line[1])
	case line[0] == "profile" && len(line) == 2:
		s.profile = line[1]
	case line[0] == "attachment" && len(line) == 4:
		s.extras = append(s.extras, func(w *mcap.Writer) error {
			return w.WriteAttachment(&mcap.Attachment{
				Name: line[1], MediaType: line[2], DataSize: uint64(len(line[3])), Data: strings.NewReader(line[3]),
			})
		})
	case line[0] == "metadata" && len(line) == 3:
		key, value, _ := strings.Cut(line[2], "=")
		s.extras = append(s.extras, func(w *mcap.Writer) error {
			return w.WriteMetadata(&mcap.Metadata{Name: line[1], Metadata: map[string]string{key: value}})
		})
	case len(line) >= 3:
		return s.addMessages(line)
	default:
		return errors.New("what is that?")
	}
	return err
}

func (s *spec) addMessages(line []string) error {
	topic, typ, values := line[0], line[1], []string(nil)
	header := rosbag.Header{{Key: "topic", Value: topic}}
	if text, md5sum, ok := s.definition(typ); ok {
		header = append(header, rosbag.Header{
			{Key: "type", Value: typ}, {Key: "md5sum", Value: md5sum}, {Key: "message_definition", Value: text},
		}...)
	} else if typ != "-" {
		header = append(header, rosbag.Field{Key: "type", Value: typ})
	}
	for i, word := range line[3:] {
		if word == ":" {
			values = line[3:][i+1:]
			break
		}
		header = withField(header, word)
	}
	times, err := timesOf(line[2])
	for i, at := range times {
		if err != nil {
			break
		}
		m := specMessage{topic: topic, at: at, header: header}
		m.data, err = s.payload(header, values, i, at)
		s.messages = append(s.messages, m)
	}
	return err
}

// withField returns a header with a field that is key=value.
func withField(h rosbag.Header, field string) rosbag.Header {
	key, value, _ := strings.Cut(field, "=")
	h = slices.Clone(h)
	if i := slices.IndexFunc(h, func(f rosbag.Field) bool { return f.Key == key }); i >= 0 {
		h[i].Value = value
		return h
	}
	return append(h, rosbag.Field{Key: key, Value: value})
}

// definition returns the definition of a type, from a file or ROS.
func (s *spec) definition(typ string) (text, md5sum string, ok bool) {
	if strings.Contains(typ, "/msg/") { // of ROS 2
		text, _, ok = noetic.Definition(strings.Replace(typ, "/msg/", "/", 1))
		return text, "", ok
	}
	if _, err := os.Stat(filepath.Join(s.dir, typ+".msg")); err != nil {
		return noetic.Definition(typ)
	}
	text = noetic.Compose(typ, func(name string) (string, bool) {
		b, err := os.ReadFile(filepath.Join(s.dir, name+".msg"))
		if err != nil {
			text, _, ok := noetic.Definition(name)
			text, _, _ = strings.Cut(text, "\n====")
			return text, ok
		}
		return string(b), true
	})
	parsed, err := rosmsg.Parse(typ, text)
	if err != nil {
		return text, "*", true
	}
	return text, parsed.MD5Sum(), true
}

func seconds(s string) (time.Duration, error) { return time.ParseDuration(s + "s") }

// timesOf reads 5, 5..7 and 5..7/0.1.
func timesOf(text string) (times []time.Duration, err error) {
	span, each, ok := strings.Cut(text, "/")
	if !ok {
		each = "1"
	}
	first, last, ok := strings.Cut(span, "..")
	if !ok {
		last = first
	}
	from, err1 := seconds(first)
	to, err2 := seconds(last)
	step, err3 := seconds(each)
	for at := from; at <= to && step > 0; at += step {
		times = append(times, at)
	}
	return times, errors.Join(err1, err2, err3)
}

// payload encodes values.
func (s *spec) payload(h rosbag.Header, values []string, i int, at time.Duration) ([]byte, error) {
	if len(values) == 2 && values[0] == "raw" {
		return []byte(values[1]), nil
	}
	text, _, _ := s.definition(h.Type())
	t, err := rosmsg.Parse(h.Type(), text)
	if err != nil {
		return nil, err
	}
	e := encoder{types: map[string]*rosmsg.Type{h.Type(): t}}
	for _, d := range t.Dependencies() {
		e.types[d.Name()] = d
	}
	for _, v := range values {
		v = strings.ReplaceAll(v, "$i", strconv.Itoa(i))
		e.values = append(e.values, strings.ReplaceAll(v, "$t", strconv.FormatFloat(at.Seconds(), 'f', 9, 64)))
	}
	if err := e.message(t.Name()); err != nil {
		return nil, err
	}
	if len(e.values) > 0 {
		return nil, fmt.Errorf("too many values: %q", e.values)
	}
	return e.b, nil
}

// encoder makes the payload of a message of values. Those that are not given are 0.
type encoder struct {
	types  map[string]*rosmsg.Type
	values []string
	b      []byte
}

func (e *encoder) next() (v string, given bool) {
	if len(e.values) == 0 {
		return "0", false
	}
	v, e.values = e.values[0], e.values[1:]
	return v, true
}

func (e *encoder) message(typ string) error {
	t := e.types[typ]
	if t == nil {
		return fmt.Errorf("no definition of %q", typ)
	}
	for _, f := range t.Fields() {
		if err := e.field(f.Type); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func (e *encoder) field(typ string) error {
	le := binary.LittleEndian
	if element, size, ok := strings.Cut(typ, "["); ok {
		return e.array(element, strings.TrimSuffix(size, "]"))
	}
	if e.types[typ] != nil {
		return e.message(typ)
	}
	v, given := e.next()
	if typ == "string" {
		if !given {
			v = ""
		}
		e.b = append(le.AppendUint32(e.b, uint32(len(v))), v...)
		return nil
	}
	if typ == "time" || typ == "duration" {
		d, err := seconds(v)
		e.b = le.AppendUint32(e.b, uint32(d/time.Second))
		e.b = le.AppendUint32(e.b, uint32(d%time.Second))
		return err
	}
	x, err := strconv.ParseFloat(v, 64)
	switch typ {
	case "bool", "int8", "uint8", "byte", "char":
		e.b = append(e.b, byte(int64(x)))
	case "int16", "uint16":
		e.b = le.AppendUint16(e.b, uint16(int64(x)))
	case "int32", "uint32":
		e.b = le.AppendUint32(e.b, uint32(int64(x)))
	case "int64", "uint64":
		e.b = le.AppendUint64(e.b, uint64(int64(x)))
	case "float32":
		e.b = le.AppendUint32(e.b, math.Float32bits(float32(x)))
	case "float64":
		e.b = le.AppendUint64(e.b, math.Float64bits(x))
	default:
		return fmt.Errorf("unknown type %s", typ)
	}
	return err
}

// array encodes the values in brackets, or a number of elements that are 0.
func (e *encoder) array(element, size string) error {
	if len(e.values) == 0 || e.values[0] != "[" {
		if size == "" {
			e.b = binary.LittleEndian.AppendUint32(e.b, 0)
			return nil
		}
		n, err := strconv.Atoi(size)
		for range n {
			err = errors.Join(err, e.field(element))
		}
		return err
	}
	e.next()
	at, n := len(e.b), uint32(0)
	if size == "" {
		e.b = append(e.b, 0, 0, 0, 0)
	}
	for len(e.values) > 0 && e.values[0] != "]" {
		if err := e.field(element); err != nil {
			return err
		}
		n++
	}
	e.next()
	if size == "" {
		binary.LittleEndian.PutUint32(e.b[at:], n)
	}
	return nil
}

// writeBag writes the spec as a bag. Messages with the same header share a connection.
func (s *spec) writeBag(f *os.File) error {
	w, err := bagfmt.NewWriter(f, s.bag)
	if err != nil {
		return err
	}
	conns := map[string]*rosbag.Connection{}
	for _, m := range s.messages {
		key := fmt.Sprint(m.topic, m.header)
		if conns[key] == nil {
			if conns[key], err = w.AddConnection(m.topic, m.header); err != nil {
				return err
			}
		}
		if err := w.Write(conns[key], rosbag.Time{}.Add(m.at), m.data); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeMCAP writes the spec as another program writes MCAP.
func (s *spec) writeMCAP(f *os.File) error {
	w, err := mcap.NewWriter(struct{ io.Writer }{f}, &s.mcap)
	if err != nil {
		return err
	}
	err = w.WriteHeader(&mcap.Header{Profile: s.profile, Library: "test"})
	schemas, channels := map[string]uint16{}, map[string]uint16{}
	for _, write := range s.extras {
		err = errors.Join(err, write(w))
	}
	for _, m := range s.messages {
		typ, key := m.header.Type(), fmt.Sprint(m.topic, m.header)
		field := func(key, otherwise string) string {
			if v, ok := m.header.Get(key); ok {
				return v
			}
			return otherwise
		}
		schema, encoding := "ros1msg", "ros1"
		if strings.Contains(typ, "/msg/") {
			schema, encoding = "ros2msg", "cdr"
		}
		if schemas[typ] == 0 && typ != "" {
			schemas[typ] = uint16(len(schemas) + 1)
			err = errors.Join(err, w.WriteSchema(&mcap.Schema{
				ID: schemas[typ], Name: typ, Encoding: field("schema", schema),
				Data: []byte(m.header.MessageDefinition()),
			}))
		}
		if channels[key] == 0 {
			channels[key] = uint16(len(slices.Collect(maps.Keys(channels))) + 1)
			err = errors.Join(err, w.WriteChannel(&mcap.Channel{
				ID: channels[key], SchemaID: schemas[typ], Topic: m.topic, MessageEncoding: field("encoding", encoding),
			}))
		}
		message := mcap.Message{ChannelID: channels[key], LogTime: uint64(m.at), Data: m.data}
		err = errors.Join(err, w.WriteMessage(&message))
	}
	return errors.Join(err, w.Close())
}

// change changes the recording. Messages of a topic count from 1:
//
//	drop TOPIC N                removes a message
//	repeat TOPIC N              has it once more, 1 ns later
//	swap TOPIC N M              exchanges the payloads of two
//	value TOPIC N : VALUES...   gives it other values
//	set TOPIC KEY=VALUE         changes the connection headers of all; topic= is another name
//	later TIME                  all messages come later
func (s *spec) change(text string) error {
	w, err := words(text)
	if err != nil || len(w) < 2 {
		return fmt.Errorf("%s: %w", text, cmp.Or(err, errors.New("what is that?")))
	}
	find := func(number string) (at int) {
		n, e := strconv.Atoi(number)
		for i, m := range s.messages {
			if m.topic == w[1] {
				if n--; n == 0 {
					return i
				}
			}
		}
		err = cmp.Or(e, fmt.Errorf("%s: no such message", text))
		return 0
	}
	switch {
	case w[0] == "drop" && len(w) == 3:
		if i := find(w[2]); err == nil {
			s.messages = slices.Delete(s.messages, i, i+1)
		}
	case w[0] == "repeat" && len(w) == 3:
		i := find(w[2])
		again := s.messages[i]
		again.at++
		s.messages = slices.Insert(s.messages, i+1, again)
	case w[0] == "swap" && len(w) == 4:
		i, j := find(w[2]), find(w[3])
		s.messages[i].data, s.messages[j].data = s.messages[j].data, s.messages[i].data
	case w[0] == "value" && len(w) > 4:
		m := &s.messages[find(w[2])]
		if err == nil {
			m.data, err = s.payload(m.header, w[4:], 0, m.at)
		}
	case w[0] == "set" && len(w) == 3:
		for i := range s.messages {
			if m := &s.messages[i]; m.topic == w[1] {
				m.header = withField(m.header, w[2])
				m.topic, _ = m.header.Get("topic")
			}
		}
	case w[0] == "later" && len(w) == 2:
		d, e := time.ParseDuration(w[1])
		err = e
		for i := range s.messages {
			s.messages[i].at += d
		}
	default:
		err = fmt.Errorf("%s: what is that?", text)
	}
	return err
}
