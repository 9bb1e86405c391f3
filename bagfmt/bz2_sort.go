package bagfmt

import (
	"encoding/binary"
	"slices"
)

// bz2Sorted is how many bytes of the rotations the first sort compares.
const bz2Sorted = 4

// Groups of at least so many rotations are dealt out by the digits of their ranks.
const (
	bz2Dealt     = 4096
	bz2RankBits  = 20 // of places in a block
	bz2DigitBits = 10
)

// transform sorts all rotations of the block and keeps the last byte of each in
// column. It returns where the block itself came to stand.
//
// The rotations are first put into groups by four bytes. Then each group is sorted by
// the groups of the rotations that begin four bytes later, then eight, and so on: each
// round doubles what has been compared, so that no input takes more than 18 of them.
func (p *bz2Packer) transform() (first int) {
	n := len(p.block)
	p.order, p.rank = slices.Grow(p.order[:0], n)[:n], slices.Grow(p.rank[:0], n)[:n]
	p.column = slices.Grow(p.column[:0], n)[:n]
	p.sortStarts()
	p.group()
	for h := bz2Sorted; h < n; h *= 2 {
		if p.round(h) {
			break
		}
	}
	p.spreadEqual()
	before := p.block[n-1]
	for i, r := range p.rank {
		p.column[r] = before
		before = p.block[i]
	}
	return int(p.rank[0])
}

// sortStarts sorts order by the first four bytes of the rotations, two at a time from
// the back. Any two neighbors stand equally often at each distance from the start, so
// that one count serves both times.
func (p *bz2Packer) sortStarts() {
	n := len(p.block)
	for i := range bz2Sorted {
		p.block = append(p.block, p.block[i%n])
	}
	t := p.block
	p.block = t[:n]
	clear(p.starts[:])
	for i := range n {
		p.starts[binary.BigEndian.Uint16(t[i:])]++
	}
	at := int32(0)
	for i, count := range p.starts {
		p.starts[i] = at
		at += count
	}
	half := p.rank // not in use yet
	for i := range n {
		pair := binary.BigEndian.Uint16(t[i+2:])
		half[p.starts[pair]] = int32(i)
		p.starts[pair]++
	}
	for _, i := range slices.Backward(half) { // each start is the end of its pair by now
		pair := binary.BigEndian.Uint16(t[i:])
		p.starts[pair]--
		p.order[p.starts[pair]] = i
	}
}

// group gives rotations that begin with the same four bytes one rank, the place of the
// last of them. A place in order whose rotation is final holds, in place of the
// rotation, minus the number of such places from there on.
func (p *bz2Packer) group() {
	t := p.block[:len(p.block)+bz2Sorted]
	end := len(p.order)
	for end > 0 {
		last := end - 1
		key := binary.BigEndian.Uint32(t[p.order[last]:])
		for end > 0 && binary.BigEndian.Uint32(t[p.order[end-1]:]) == key {
			end--
			p.rank[p.order[end]] = int32(last)
		}
		if end == last {
			p.order[last] = -1
		}
	}
}

// round sorts every group by the ranks of the rotations that begin h bytes later. It
// returns true when all rotations were final.
func (p *bz2Packer) round(h int) (done bool) {
	n := len(p.order)
	for at := 0; at < n; {
		end := at
		for end < n && p.order[end] < 0 {
			end -= int(p.order[end])
		}
		if end > at {
			p.order[at] = int32(at - end)
			at = end
			continue
		}
		end = int(p.rank[p.order[at]]) + 1
		p.split(at, end, h)
		at = end
	}
	return int(p.order[0]) == -n
}

// split sorts one group into smaller ones. Ranks that other groups have got in the same
// round are only finer than they have to be.
func (p *bz2Packer) split(at, end, h int) {
	n := len(p.order)
	keys := slices.Grow(p.keys[:0], end-at)[:end-at]
	p.keys = keys
	for i, rotation := range p.order[at:end] {
		later := int(rotation) + h
		if later >= n {
			later -= n
		}
		keys[i] = uint64(p.rank[later])<<32 | uint64(rotation)
	}
	p.sortKeys()
	keys = p.keys
	for i := len(keys); i > 0; {
		last, rank := i-1, int32(at+i-1)
		for i > 0 && keys[i-1]>>32 == keys[last]>>32 {
			i--
			rotation := int32(uint32(keys[i]))
			p.order[at+i] = rotation
			p.rank[rotation] = rank
		}
		if i == last {
			p.order[at+last] = -1
		}
	}
}

// sortKeys sorts keys by their ranks. Large groups come from data that repeats itself:
// there it is many times as fast to deal them out twice as to compare them.
func (p *bz2Packer) sortKeys() {
	if len(p.keys) < bz2Dealt {
		slices.Sort(p.keys)
		return
	}
	p.dealt = slices.Grow(p.dealt[:0], len(p.keys))[:len(p.keys)]
	for shift := 32; shift < 32+bz2RankBits; shift += bz2DigitBits {
		var starts [1 << bz2DigitBits]int32
		for _, k := range p.keys {
			starts[k>>shift&(1<<bz2DigitBits-1)]++
		}
		at := int32(0)
		for i, count := range starts {
			starts[i] = at
			at += count
		}
		for _, k := range p.keys {
			digit := k >> shift & (1<<bz2DigitBits - 1)
			p.dealt[starts[digit]] = k
			starts[digit]++
		}
		p.keys, p.dealt = p.dealt, p.keys
	}
}

// spreadEqual gives rotations that are wholly equal places of their own.
func (p *bz2Packer) spreadEqual() {
	for at := 0; at < len(p.order); {
		if p.order[at] < 0 {
			at -= int(p.order[at])
			continue
		}
		end := int(p.rank[p.order[at]]) + 1
		for ; at < end; at++ {
			p.rank[p.order[at]] = int32(at)
		}
	}
}
