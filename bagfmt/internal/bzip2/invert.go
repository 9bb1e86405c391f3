package bzip2

import "slices"

const (
	lanes        = 8    // walks at a time
	segmentBytes = 1024 // of a walk, on average
	pieceBytes   = 256
)

// inverter undoes the sorting of rotations.
//
// Each rotation has a link to the one that begins a byte later. Following the links from
// the origin gives the block, but each step waits for memory. So walks begin at many
// rotations, evenly spaced and one of them the origin, and end where another one began,
// several at a time; then their segments are joined. A link is 24 bits above the byte that
// it passes. A link to a place where a walk begins has the number of a segment in place of that of a
// rotation, counted on from the last rotation.
type inverter struct {
	links    []uint32
	pieces   []piece // the first pieces of all segments, and all others after them
	walked   []byte
	position [lanes]uint
	passed   [lanes][pieceBytes]byte
}

// piece is a part of a segment.
type piece struct{ start, end, next int } // in walked; in pieces

// invert replaces column by the block. counts has the number of each byte in column.
func (v *inverter) invert(column []byte, counts *[256]uint32, origin int) {
	v.link(column, counts, origin%segmentBytes)
	v.walkAll(len(column), origin%segmentBytes)
	at := origin / segmentBytes
	// the pieces form a ring, which is shorter than a block that repeats itself
	for n := 0; n < len(column); at = v.pieces[at].next {
		n += copy(column[n:], v.walked[v.pieces[at].start:v.pieces[at].end])
	}
}

// link makes the links. The first walk begins at rotation first.
func (v *inverter) link(column []byte, counts *[256]uint32, first int) {
	var next [256]uint32
	sum := uint32(0)
	for b, count := range counts {
		next[b] = sum
		sum += count
	}
	n := len(column)
	links := slices.Grow(v.links[:0], n+1)[:n+1]
	links[n] = uint32(n) << 8 // where a lane without a walk is
	v.links = links
	for start := first - segmentBytes; start < n; start += segmentBytes {
		from, to := max(start, 0), min(start+segmentBytes, n)
		b := column[from]
		toStart := next[b]
		for i, b := range column[from:to] {
			links[next[b]] = uint32(from+i)<<8 | uint32(b)
			next[b]++
		}
		if start >= 0 {
			links[toStart] = uint32(n+1+start/segmentBytes)<<8 | uint32(b)
		}
	}
}

// walkAll walks all segments of a block of n bytes.
func (v *inverter) walkAll(n, first int) {
	segments := (n - first + segmentBytes - 1) / segmentBytes
	v.walked = slices.Grow(v.walked[:0], n)
	v.pieces = slices.Grow(v.pieces[:0], segments)[:segments]
	var current [lanes]int // piece; -1 in a lane without a walk
	for lane := range current {
		current[lane], v.position[lane] = -1, uint(n)
	}
	for begun, ended := 0, 0; ended < segments; {
		for lane, at := range current {
			if at < 0 && begun < segments {
				current[lane], v.position[lane] = begun, uint(first+begun*segmentBytes)
				begun++
			}
		}
		steps := v.walk()
		for lane, at := range current {
			if at < 0 {
				continue
			}
			start, next, end := len(v.walked), len(v.pieces), int(v.position[lane])-n-1
			v.walked = append(v.walked, v.passed[lane][:steps]...)
			if end >= 0 { // the segment ends where this one begins
				next = end
				current[lane], v.position[lane] = -1, uint(n)
				ended++
			} else {
				v.pieces = append(v.pieces, piece{})
				current[lane] = next
			}
			v.pieces[at] = piece{start, len(v.walked), next}
		}
	}
}

// walk takes steps in all lanes, until a segment ends or passed is full. That a position
// is below n also tells the compiler that it is in links.
func (v *inverter) walk() (steps int) {
	links, n, p, out := v.links, uint(len(v.links)), &v.position, &v.passed
	p0, p1, p2, p3, p4, p5, p6, p7 := p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]
	for ; steps < pieceBytes; steps++ {
		if p0 >= n || p1 >= n || p2 >= n || p3 >= n || p4 >= n || p5 >= n || p6 >= n || p7 >= n {
			break
		}
		a, b, c, d, e, f, g, h := links[p0], links[p1], links[p2], links[p3], links[p4], links[p5], links[p6],
			links[p7]
		out[0][steps], out[1][steps], out[2][steps], out[3][steps] = byte(a), byte(b), byte(c), byte(d)
		out[4][steps], out[5][steps], out[6][steps], out[7][steps] = byte(e), byte(f), byte(g), byte(h)
		p0, p1, p2, p3, p4, p5, p6, p7 = uint(a>>8), uint(b>>8), uint(c>>8), uint(d>>8), uint(e>>8),
			uint(f>>8), uint(g>>8), uint(h>>8)
	}
	p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7] = p0, p1, p2, p3, p4, p5, p6, p7
	return steps
}
