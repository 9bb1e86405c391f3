package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// halfRandom is data that compresses to about half.
func halfRandom(n int) string {
	rnd := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		if i/16%2 == 0 {
			b[i] = byte(rnd.Uint32())
		}
	}
	return string(b)
}

func BenchmarkAppendRun(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		for _, conns := range []int{1, 8} {
			b.Run(fmt.Sprintf("msg=%d/conns=%d", size, conns), func(b *testing.B) {
				var list []*rosbag.Connection
				for i := range conns {
					list = append(list, &rosbag.Connection{ID: rosbag.ConnID(i), Topic: "/t", Header: header("a/A")})
				}
				run := frame(halfRandom(size))
				var cb chunk.Builder
				var r chunk.Records
				cb.Reset(&r)
				b.SetBytes(int64(len(run)))
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if cb.Len() > chunk.DefaultBytes {
						cb.Reset(&r)
					}
					cb.AppendRun(list[i%conns], rosbag.Time{Sec: uint32(i)}, run, 1)
					i++
				}
			})
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	for _, comp := range compressions {
		for _, size := range []int{100, 1 << 10} {
			b.Run(fmt.Sprintf("comp=%s/msg=%d", comp, size), func(b *testing.B) {
				z, err := chunk.NewCompressor(comp)
				if err != nil {
					b.Fatal(err)
				}
				conns, _ := sample(0)
				var cb chunk.Builder
				cb.Reset(nil)
				run := frame(halfRandom(size))
				for i := 0; cb.Len() <= chunk.DefaultBytes; i++ {
					cb.AppendRun(conns[i%3], rosbag.Time{Sec: uint32(i)}, run, 1)
				}
				var buf []byte
				b.SetBytes(int64(cb.Len()))
				b.ReportAllocs()
				for b.Loop() {
					c, err := cb.Seal(z, buf)
					if err != nil {
						b.Fatal(err)
					}
					if comp != rosbag.CompressionNone {
						buf = c.Record
					}
				}
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, comp := range compressions {
		for _, how := range []string{"cursor", "scanner"} {
			b.Run(fmt.Sprintf("how=%s/comp=%s/msg=1KiB", how, comp), func(b *testing.B) {
				conns, _ := sample(0)
				data := halfRandom(1 << 10)
				msgs := make([]msg, 3000)
				for i := range msgs {
					msgs[i] = msg{conns[i%3].Topic, rosbag.Time{Sec: uint32(i)}, data}
				}
				bag := writeBag(b, bagfmt.WriterOptions{Compression: comp}, conns, msgs)
				b.SetBytes(int64(len(msgs) * len(data)))
				b.ReportAllocs()
				for b.Loop() {
					next := benchSource(b, how, bag)
					for {
						if _, err := next(); errors.Is(err, io.EOF) {
							break
						} else if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

func benchSource(b *testing.B, how string, bag []byte) func() (*rosbag.Message, error) {
	b.Helper()
	if how == "scanner" {
		s, err := bagfmt.NewScanner(bytes.NewReader(bag), bagfmt.ScannerOptions{})
		if err != nil {
			b.Fatal(err)
		}
		return s.Next
	}
	r, err := openBag(bag)
	if err != nil {
		b.Fatal(err)
	}
	return r.Cursor(rosbag.Query{}).Next
}
