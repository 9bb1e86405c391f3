package bzip2

import (
	"encoding/binary"
	"slices"
)

// sortedPrefix is how many bytes of the rotations the first sort compares.
const sortedPrefix = 4

// Groups of at least so many rotations are dealt out by the digits of their ranks.
const (
	minRadixSort = 4096
	rankBits     = 20 // of places in a block
	digitBits    = 10
)

// transform sorts all rotations of the block and keeps the last byte of each in
// column. It returns where the block itself came to stand.
//
// The rotations are first put into groups by four bytes. Then each group is sorted by
// the groups of the rotations that begin four bytes later, then eight, and so on: each
// round doubles what has been compared, so that no input takes more than 18 of them.
func (e *Encoder) transform() (first int) {
	n := len(e.block)
	e.order, e.rank = slices.Grow(e.order[:0], n)[:n], slices.Grow(e.rank[:0], n)[:n]
	e.column = slices.Grow(e.column[:0], n)[:n]
	e.sortStarts()
	e.group()
	for h := sortedPrefix; h < n; h *= 2 {
		if e.round(h) {
			break
		}
	}
	e.spreadEqual()
	before := e.block[n-1]
	for i, r := range e.rank {
		e.column[r] = before
		before = e.block[i]
	}
	return int(e.rank[0])
}

// sortStarts sorts order by the first four bytes of the rotations, two at a time from
// the back. Any two neighbors stand equally often at each distance from the start, so
// that one count serves both times.
func (e *Encoder) sortStarts() {
	n := len(e.block)
	for i := range sortedPrefix {
		e.block = append(e.block, e.block[i%n])
	}
	t := e.block
	e.block = t[:n]
	clear(e.starts[:])
	for i := range n {
		e.starts[binary.BigEndian.Uint16(t[i:])]++
	}
	at := int32(0)
	for i, count := range e.starts {
		e.starts[i] = at
		at += count
	}
	half := e.rank // not in use yet
	for i := range n {
		pair := binary.BigEndian.Uint16(t[i+2:])
		half[e.starts[pair]] = int32(i)
		e.starts[pair]++
	}
	for _, i := range slices.Backward(half) { // each start is the end of its pair by now
		pair := binary.BigEndian.Uint16(t[i:])
		e.starts[pair]--
		e.order[e.starts[pair]] = i
	}
}

// group gives rotations that begin with the same four bytes one rank, the place of the
// last of them. A place in order whose rotation is final holds, in place of the
// rotation, minus the number of such places from there on.
func (e *Encoder) group() {
	t := e.block[:len(e.block)+sortedPrefix]
	end := len(e.order)
	for end > 0 {
		last := end - 1
		key := binary.BigEndian.Uint32(t[e.order[last]:])
		for end > 0 && binary.BigEndian.Uint32(t[e.order[end-1]:]) == key {
			end--
			e.rank[e.order[end]] = int32(last)
		}
		if end == last {
			e.order[last] = -1
		}
	}
}

// round sorts every group by the ranks of the rotations that begin h bytes later, h being
// what has been compared. It returns true when that split no group: then rotations of one
// group have the same h bytes, and so have those that begin h bytes later, and so on. They
// are wholly equal.
func (e *Encoder) round(h int) (done bool) {
	n := len(e.order)
	done = true
	for at := 0; at < n; {
		end := at
		for end < n && e.order[end] < 0 {
			end -= int(e.order[end])
		}
		if end > at {
			e.order[at] = int32(at - end)
			at = end
			continue
		}
		end = int(e.rank[e.order[at]]) + 1
		if e.split(at, end, h) {
			done = false
		}
		at = end
	}
	return done
}

// split sorts one group into smaller ones, and returns false if it stays as it is. Ranks that
// other groups have got in the same round are only finer than they have to be.
func (e *Encoder) split(at, end, h int) bool {
	n := len(e.order)
	keys := slices.Grow(e.keys[:0], end-at)[:end-at]
	e.keys = keys
	first, differs := uint64(0), uint64(0)
	for i, rotation := range e.order[at:end] {
		later := int(rotation) + h
		if later >= n {
			later -= n
		}
		keys[i] = uint64(e.rank[later])<<32 | uint64(rotation)
		if i == 0 {
			first = keys[0]
		}
		differs |= keys[i] ^ first
	}
	if differs>>32 == 0 {
		return false
	}
	e.sortKeys()
	keys = e.keys
	for i := len(keys); i > 0; {
		last, rank := i-1, int32(at+i-1)
		for i > 0 && keys[i-1]>>32 == keys[last]>>32 {
			i--
			rotation := int32(uint32(keys[i]))
			e.order[at+i] = rotation
			e.rank[rotation] = rank
		}
		if i == last {
			e.order[at+last] = -1
		}
	}
	return true
}

// sortKeys sorts keys by their ranks. Large groups come from data that repeats itself:
// there it is many times as fast to deal them out twice as to compare them.
func (e *Encoder) sortKeys() {
	if len(e.keys) < minRadixSort {
		slices.Sort(e.keys)
		return
	}
	e.dealt = slices.Grow(e.dealt[:0], len(e.keys))[:len(e.keys)]
	for shift := 32; shift < 32+rankBits; shift += digitBits {
		var starts [1 << digitBits]int32
		for _, k := range e.keys {
			starts[k>>shift&(1<<digitBits-1)]++
		}
		at := int32(0)
		for i, count := range starts {
			starts[i] = at
			at += count
		}
		for _, k := range e.keys {
			digit := k >> shift & (1<<digitBits - 1)
			e.dealt[starts[digit]] = k
			starts[digit]++
		}
		e.keys, e.dealt = e.dealt, e.keys
	}
}

// spreadEqual gives rotations that are wholly equal places of their own.
func (e *Encoder) spreadEqual() {
	for at := 0; at < len(e.order); {
		if e.order[at] < 0 {
			at -= int(e.order[at])
			continue
		}
		end := int(e.rank[e.order[at]]) + 1
		for ; at < end; at++ {
			e.rank[e.order[at]] = int32(at)
		}
	}
}
