package mcapwriter_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/ros2/mcapwriter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is a message as tests see it.
type message struct {
	topic string
	at    uint64
	data  string
}

// messages has times that start at 0, go back, and a message larger than a chunk.
func messages(n int) (all []message) {
	for i := range n {
		size := i % 40
		if i%100 == 7 {
			size = 70_000
		}
		all = append(all, message{[]string{"/a", "/b"}[i%2], uint64(i / 3 * 10), strings.Repeat(string(rune('a'+i%26)), size)})
	}
	return all
}

func write(t testing.TB, w io.Writer, o mcapwriter.Options, all []message) error {
	t.Helper()
	o.Profile, o.ChunkBytes = "ros2", 4096
	mw, err := mcapwriter.New(w, o)
	if err != nil {
		return err
	}
	defer mw.Abort()
	ids := map[string]uint16{}
	for _, m := range all {
		if ids[m.topic] == 0 {
			schema, err := mw.AddSchema(mcapwriter.AnyID, "t"+m.topic, "ros2msg", []byte("string data"))
			if err != nil {
				return err
			}
			if ids[m.topic], err = mw.AddChannel(mcapwriter.AnyID, schema, m.topic, "cdr", map[string]string{"k": m.topic}); err != nil {
				return err
			}
		}
		if err := mw.Write(ids[m.topic], 0, m.at, []byte(m.data)); err != nil {
			return err
		}
	}
	if err := mw.AddMetadata("rosbag2", map[string]string{"x": "y"}); err != nil {
		return err
	}
	return mw.Close()
}

func TestRead(t *testing.T) {
	t.Parallel()
	all := messages(1000)
	for _, compression := range []string{"", "zstd", "lz4", "none"} {
		t.Run("compression="+compression, func(t *testing.T) {
			t.Parallel()
			var file bytes.Buffer
			if err := write(t, &file, mcapwriter.Options{Compression: compression, Workers: 3}, all); err != nil {
				t.Fatal(err)
			}
			r, err := mcap.NewReader(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			info, err := r.Info()
			if err != nil {
				t.Fatal(err)
			}
			s := info.Statistics
			if s.MessageCount != 1000 || s.ChannelMessageCounts[1] != 500 || s.MessageStartTime != 0 || s.MessageEndTime != 3330 ||
				s.MetadataCount != 1 || s.ChunkCount != uint32(len(info.ChunkIndexes)) || s.ChannelCount != 2 || s.SchemaCount != 2 {
				t.Errorf("statistics %+v", s)
			}
			if info.Header.Profile != "ros2" || info.Channels[2].Metadata["k"] != "/b" || info.Schemas[info.Channels[2].SchemaID].Name != "t/b" {
				t.Errorf("%+v", info)
			}
			it, err := r.Messages(mcap.InOrder(mcap.LogTimeOrder))
			if err != nil {
				t.Fatal(err)
			}
			var got []message
			for {
				_, c, m, err := it.NextInto(nil)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, message{c.Topic, m.LogTime, string(m.Data)})
			}
			if diff := cmp.Diff(all, got, cmp.AllowUnexported(message{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestChecksums reads all checksums, front to back.
func TestChecksums(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := write(t, &file, mcapwriter.Options{}, messages(500)); err != nil {
		t.Fatal(err)
	}
	l, err := mcap.NewLexer(bytes.NewReader(file.Bytes()), &mcap.LexerOptions{ValidateChunkCRCs: true, ComputeAttachmentCRCs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := 0
	for {
		token, _, err := l.Next(nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if token == mcap.TokenMessage {
			n++
		}
	}
	if n != 500 {
		t.Errorf("%d messages", n)
	}
}

// TestZstdOfNoise: data that repeats nothing is packed as far as some of its bytes are more frequent than others.
func TestZstdOfNoise(t *testing.T) {
	t.Parallel()
	noise := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(noise.UintN(16)) << (4 * noise.UintN(2)) // 31 values, of about 4.9 bits
	}
	var file bytes.Buffer
	if err := write(t, &file, mcapwriter.Options{}, []message{{"/a", 1, string(data)}}); err != nil {
		t.Fatal(err)
	}
	if most := len(data) * 2 / 3; file.Len() > most {
		t.Errorf("%d bytes, want at most %d", file.Len(), most)
	}
}

func TestSameForAnyWorkers(t *testing.T) {
	t.Parallel()
	sums := map[[32]byte]bool{}
	for _, workers := range []int{0, 1, 2, 7} {
		var file bytes.Buffer
		if err := write(t, &file, mcapwriter.Options{Workers: workers}, messages(2000)); err != nil {
			t.Fatal(err)
		}
		sums[sha256.Sum256(file.Bytes())] = true
	}
	if len(sums) != 1 {
		t.Errorf("%d different files", len(sums))
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := write(t, &file, mcapwriter.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := mcap.NewReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if info, err := r.Info(); err != nil || info.Statistics.MessageCount != 0 {
		t.Error(info, err)
	}
}

func TestCompressionName(t *testing.T) {
	t.Parallel()
	if _, err := mcapwriter.New(io.Discard, mcapwriter.Options{Compression: "bz2"}); err == nil || !strings.Contains(err.Error(), `"bz2"`) {
		t.Error(err)
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestDiskFull checks that each failed write is told, and that no goroutine is left.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	all := messages(300)
	if err := write(t, &file, mcapwriter.Options{Workers: 2}, all); err != nil {
		t.Fatal(err)
	}
	for room := 0; room < file.Len(); room += 97 {
		if err := write(t, &full{room}, mcapwriter.Options{Workers: 2}, all); !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: %v", room, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, compression := range []string{"none", "zstd"} {
		b.Run("compression="+compression, func(b *testing.B) {
			w, err := mcapwriter.New(io.Discard, mcapwriter.Options{Compression: compression, Workers: 2})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Abort()
			data := make([]byte, 100)
			b.ReportAllocs()
			b.SetBytes(100)
			for i := 0; b.Loop(); i++ {
				if err := w.Write(uint16(i%8+1), 0, uint64(i), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
