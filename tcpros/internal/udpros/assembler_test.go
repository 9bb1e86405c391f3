package udpros

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

var udpSeed = flag.Uint64("udpseed", 0, "seed of TestUDPRandom; 0 takes the clock")

// datagrams makes the datagrams of a frame as roscpp sends them.
func datagrams(id uint8, frame []byte, size int) [][]byte {
	size -= HeaderBytes
	blocks := (len(frame) + size - 1) / size
	out := make([][]byte, 0, blocks)
	for i := range blocks {
		d := binary.LittleEndian.AppendUint32(nil, 7)
		if i == 0 {
			d = append(d, udpData0, id)
			d = binary.LittleEndian.AppendUint16(d, uint16(blocks))
		} else {
			d = append(d, udpDataN, id)
			d = binary.LittleEndian.AppendUint16(d, uint16(i))
		}
		out = append(out, append(d, frame[i*size:min((i+1)*size, len(frame))]...))
	}
	return out
}

// udpFrame makes a frame whose bytes identify it.
func udpFrame(n, payload int) []byte {
	b := make([]byte, payload)
	for i := range b {
		b[i] = byte(i*7 + n + i>>8)
	}
	return asFrame(b)
}

// udpID is the message number that roscpp gives the nth message, from 0.
func udpID(n int) uint8 { return uint8(n%udpIDs + 1) }

func newAssembler() *Assembler { return &Assembler{Max: wire.DefaultMaxMessage} }

// feed adds datagrams and collects the frames and losses.
func feed(a *Assembler, ds ...[]byte) (frames []string, lost int) {
	for _, d := range ds {
		f, l := a.Add(d)
		lost += l
		if f != nil {
			frames = append(frames, string(f))
		}
	}
	return frames, lost
}

func TestUDPSizes(t *testing.T) {
	t.Parallel()
	const body = DatagramBytes - HeaderBytes
	a := newAssembler()
	for i, payload := range []int{0, 1, body - 5, body - 4, body - 3, 2*body - 5, 2*body - 4, 2*body - 3, 100_000, 5 << 20, 10, 1 << 20} {
		want := udpFrame(i, payload)
		got, lost := feed(a, datagrams(udpID(i), want, DatagramBytes)...)
		if len(got) != 1 || got[0] != string(want) || lost != 0 {
			t.Errorf("%d bytes: %d frames, %d lost", payload, len(got), lost)
		}
	}
	// More datagrams than their numbers can count.
	want := udpFrame(0, 300_000)
	if got, lost := feed(newAssembler(), datagrams(1, want, 12)...); len(got) != 1 || got[0] != string(want) || lost != 0 {
		t.Errorf("75000 datagrams: %d frames, %d lost", len(got), lost)
	}
}

// Parts in any order after the first complete the message; duplicates do no harm.
func TestUDPOrder(t *testing.T) {
	t.Parallel()
	want := udpFrame(1, 49)
	ds := datagrams(9, want, HeaderBytes+10)
	if len(ds) != 6 {
		t.Fatal(len(ds))
	}
	var permute func(done, rest [][]byte)
	permute = func(done, rest [][]byte) {
		for i := range rest {
			next := append(append([][]byte{}, rest[:i]...), rest[i+1:]...)
			permute(append(done[:len(done):len(done)], rest[i], rest[i]), next)
		}
		if len(rest) == 0 {
			if got, lost := feed(newAssembler(), done...); len(got) != 1 || got[0] != string(want) || lost != 0 {
				t.Fatalf("%q: %q, %d lost", done, got, lost)
			}
		}
	}
	permute(ds[:1:1], ds[1:])
}

// A message is lost if one of its datagrams is lost; other messages are not.
func TestUDPLoss(t *testing.T) {
	t.Parallel()
	frames := [][]byte{udpFrame(0, 5), udpFrame(1, 35), udpFrame(2, 5), udpFrame(3, 35)}
	const middle = 1
	for skip := range 4 {
		a := newAssembler()
		var got []string
		lost := 0
		for i, f := range frames {
			ds := datagrams(udpID(i), f, HeaderBytes+10)
			if i == middle {
				ds = append(ds[:skip:skip], ds[skip+1:]...)
			}
			g, l := feed(a, ds...)
			got, lost = append(got, g...), lost+l
		}
		want := []string{string(frames[0]), string(frames[2]), string(frames[3])}
		if diff := cmp.Diff(want, got); diff != "" || lost != 1 {
			t.Errorf("without datagram %d: %d lost: %s", skip, lost, diff)
		}
	}
}

// Whole messages that are missing are counted up to a round of their numbers.
func TestUDPGaps(t *testing.T) {
	t.Parallel()
	for gap := range udpIDs {
		for at := range 3 {
			a := newAssembler()
			frames, lost := 0, 0
			for i := range 40 {
				n := at*100 + i
				if i >= 20 {
					n += gap
				}
				got, l := feed(a, datagrams(udpID(n), numbered(n, 4), DatagramBytes)...)
				frames, lost = frames+len(got), lost+l
			}
			if frames != 40 || lost != gap {
				t.Fatalf("gap of %d: %d frames, %d lost", gap, frames, lost)
			}
		}
	}
	for name, id := range map[string]func(n int) uint8{"roscpp": udpID, "goroslib": func(n int) uint8 { return uint8(n + 1) }} {
		a := newAssembler()
		for i := range 1000 {
			if got, lost := feed(a, datagrams(id(i), udpFrame(i, 4), DatagramBytes)...); len(got) != 1 || lost != 0 {
				t.Fatalf("%s: message %d: %d frames, %d lost", name, i, len(got), lost)
			}
		}
	}
}

func TestUDPLate(t *testing.T) {
	t.Parallel()
	const payload = 4
	one := func(i int) []byte { return datagrams(udpID(i), udpFrame(i, payload), DatagramBytes)[0] }
	for name, tt := range map[string]struct {
		order []int
		want  []int
		lost  int
	}{
		"swapped":   {[]int{0, 2, 1, 3}, []int{0, 2, 1, 3}, 0},
		"reversed":  {[]int{0, 4, 3, 2, 1, 5}, []int{0, 4, 3, 2, 1, 5}, 0},
		"over wrap": {[]int{253, 256, 255, 254, 257}, []int{253, 256, 255, 254, 257}, 0},
		"one late":  {[]int{0, 3, 1, 4}, []int{0, 3, 1, 4}, 1},
		"copies":    {[]int{0, 2, 1, 1, 2, 0, 3, 3, 2}, []int{0, 2, 1, 3}, 0},
		"copy of 2": {[]int{0, 3, 1, 1, 2, 4}, []int{0, 3, 1, 2, 4}, 0},
		"first":     {[]int{5, 4, 5, 6, 4}, []int{5, 4, 6}, 0},
		"latest":    {[]int{0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 2}, []int{0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 2}, 0},
	} {
		a := &Assembler{Max: payload}
		var want []string
		for _, i := range tt.want {
			want = append(want, string(udpFrame(i, payload)))
		}
		var ds [][]byte
		for _, i := range tt.order {
			ds = append(ds, one(i))
		}
		got, lost := feed(a, ds...)
		if diff := cmp.Diff(want, got); diff != "" || lost != tt.lost {
			t.Errorf("%s: %d lost: %s", name, lost, diff)
		}
	}
}

// An empty message is delivered late, too.
func TestUDPLateEmpty(t *testing.T) {
	t.Parallel()
	a := newAssembler()
	for _, i := range []int{0, 2, 1} {
		if got, _ := feed(a, datagrams(udpID(i), udpFrame(i, 0), DatagramBytes)...); len(got) != 1 {
			t.Errorf("message %d: %d frames", i, len(got))
		}
	}
}

// A datagram is kept while one of up to udpAhead datagrams before it is missing.
func TestUDPAhead(t *testing.T) {
	t.Parallel()
	ds := datagrams(1, udpFrame(0, 700), HeaderBytes+10)
	for early, want := range map[int]int{1 + udpAhead: 1, 2 + udpAhead: 0} {
		a := newAssembler()
		feed(a, ds[0], ds[early])
		if got, _ := feed(a, slices.Concat(ds[1:early], ds[early+1:])...); len(got) != want {
			t.Errorf("block %d after block 0: %d frames, want %d", early, len(got), want)
		}
	}
}

// numbered is a frame that begins with its number and is unlike any other.
func numbered(n, more int) []byte {
	return asFrame(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), udpFrame(n, more)[4:]...))
}

// For any order and number of datagrams, each frame that comes out was sent, and comes out once;
// each other frame is counted as lost.
func TestUDPRandom(t *testing.T) {
	t.Parallel()
	seed := *udpSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	const messages, size = 300, HeaderBytes + 20
	for round := range 300 {
		unseen := map[string]bool{}
		var ds [][]byte
		for i := range messages {
			f := numbered(i, rnd.IntN(100))
			unseen[string(f)] = true
			for _, d := range datagrams(udpID(i), f, size) {
				switch rnd.IntN(20) {
				case 0: // lost
				case 1: // twice
					ds = append(ds, d, d)
				default:
					ds = append(ds, d)
				}
			}
		}
		for i := range len(ds) - 1 {
			if rnd.IntN(10) == 0 {
				ds[i], ds[i+1] = ds[i+1], ds[i]
			}
		}
		last := numbered(messages, 30)
		unseen[string(last)] = true
		got, lost := feed(newAssembler(), append(ds, datagrams(udpID(messages), last, size)...)...)
		for _, f := range got {
			if !unseen[f] {
				t.Fatalf("round %d: %q was not sent, or came twice", round, f)
			}
			delete(unseen, f)
		}
		// Messages before the first received datagram are unknown.
		if early := messages + 1 - len(got) - lost; early < 0 || early > 3 || len(got) < messages/4 {
			t.Fatalf("round %d: %d sent, %d came, %d counted as lost", round, messages+1, len(got), lost)
		}
	}
}

// Numbers in a datagram cost no memory; only received bytes do.
func TestUDPBombs(t *testing.T) {
	t.Parallel()
	head := func(op, id byte, block uint16) []byte {
		return binary.LittleEndian.AppendUint16([]byte{7, 0, 0, 0, op, id}, block)
	}
	claim := func(payload uint32, body int, blocks uint16) []byte {
		d := append(head(udpData0, 1, blocks), make([]byte, body)...)
		binary.LittleEndian.PutUint32(d[HeaderBytes:], payload)
		return d
	}
	blocksOf := func(payload, body int) uint16 { return uint16((payload + 4 + body - 1) / body) }
	for name, tt := range map[string]struct {
		ds   [][]byte
		lost int
	}{
		"empty":              {[][]byte{nil}, 0},
		"header only":        {[][]byte{head(udpData0, 1, 1)}, 0},
		"ping":               {[][]byte{append(head(2, 1, 0), 'x')}, 0},
		"unknown op":         {[][]byte{append(head(255, 1, 0), 'x')}, 0},
		"no length":          {[][]byte{append(head(udpData0, 1, 1), 0, 0, 0)}, 1},
		"256 MiB":            {[][]byte{claim(wire.DefaultMaxMessage, 1492, blocksOf(wire.DefaultMaxMessage, 1492))}, 0},
		"256 MiB + 1":        {[][]byte{claim(wire.DefaultMaxMessage+1, 1492, blocksOf(wire.DefaultMaxMessage+1, 1492))}, 1},
		"4 GiB":              {[][]byte{claim(1<<32-1, 1492, 1)}, 1},
		"wrong count":        {[][]byte{claim(5000, 1492, 7)}, 1},
		"no datagrams":       {[][]byte{claim(5000, 1492, 0)}, 1},
		"longer than it is":  {[][]byte{claim(10, 1492, 1)}, 1},
		"far block":          {[][]byte{claim(wire.DefaultMaxMessage, 1492, blocksOf(wire.DefaultMaxMessage, 1492)), append(head(udpDataN, 1, 65535), make([]byte, 1492)...), append(head(udpDataN, 1, 30000), make([]byte, 1492)...)}, 0},
		"block of odd size":  {[][]byte{claim(5000, 1492, 4), append(head(udpDataN, 1, 1), 'x')}, 0},
		"block after end":    {[][]byte{claim(5000, 1492, 4), append(head(udpDataN, 1, 4), make([]byte, 1492)...)}, 0},
		"rest without start": {[][]byte{append(head(udpDataN, 1, 1), 'x'), append(head(udpDataN, 1, 2), 'x')}, 1},
	} {
		a := newAssembler()
		got, lost := feed(a, tt.ds...)
		if len(got) != 0 || lost != tt.lost || cap(a.buf) > 64<<10 {
			t.Errorf("%s: %d frames, %d lost, buffer of %d bytes", name, len(got), lost, cap(a.buf))
		}
		a.Abandon()
		if got, _ := feed(a, datagrams(2, udpFrame(0, 5000), DatagramBytes)...); len(got) != 1 {
			t.Errorf("%s: a good message does not come through", name)
		}
	}
}

func TestUDPAllocatesNothing(t *testing.T) {
	a := newAssembler()
	var rounds [][][]byte
	for i := range udpIDs {
		rounds = append(rounds, datagrams(udpID(i), udpFrame(i, 20_000), DatagramBytes))
	}
	i := 0
	if n := testing.AllocsPerRun(2*udpIDs, func() {
		for _, d := range rounds[i%udpIDs] {
			a.Add(d)
		}
		i++
	}); n != 0 {
		t.Errorf("%v allocations for each message", n)
	}
}

// FuzzUDP cuts the input into datagrams, each after a byte with its length.
func FuzzUDP(f *testing.F) {
	seed := func(ds ...[]byte) {
		var in []byte
		for _, d := range ds {
			in = append(append(in, byte(len(d))), d...)
		}
		f.Add(in)
	}
	one, two := datagrams(1, numbered(1, 100), 60), datagrams(2, numbered(2, 5), 60)
	seed(append(one, two...)...)
	seed(one[0], one[2], one[1], two[0])
	seed(two[0], one[0], one[1], one[2])
	f.Fuzz(func(t *testing.T, in []byte) {
		a := newAssembler()
		frames, lost, came := 0, 0, 0
		for len(in) > 0 {
			n := min(int(in[0]), len(in)-1)
			d := in[1 : 1+n : 1+n]
			in = in[1+n:]
			came += n
			frame, l := a.Add(d)
			lost += l
			if frame != nil {
				frames++
				if int64(binary.LittleEndian.Uint32(frame)) != int64(len(frame)-4) {
					t.Fatalf("frame of %d bytes says %d", len(frame), binary.LittleEndian.Uint32(frame))
				}
			}
			if most := 2*came + 2*udpAhead*256 + udpFirst; cap(a.buf) > most {
				t.Fatalf("buffer of %d bytes for %d that came", cap(a.buf), came)
			}
		}
		if lost < 0 || frames > came/HeaderBytes {
			t.Fatalf("%d frames, %d lost of %d bytes", frames, lost, came)
		}
	})
}

// asFrame returns a payload as a frame.
func asFrame(payload []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}
