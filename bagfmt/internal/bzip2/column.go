package bzip2

import (
	"encoding/binary"
	"slices"
)

const (
	groupCodes  = 50  // codes that share one choice of a table
	maxSymbols  = 258 // codes at most
	minTables   = 2
	maxTables   = 6
	runB        = 1  // the second of the codes of runs of zeros, in base two with the digits one and two
	maxWordBits = 20 // of the codes that are read
	lookupBits  = 10
	spareBytes  = 8 // after a column, so that words of bytes can be read and written
)

// wordTable finds the code of the first Huffman word in some bits: by lookup, or by its
// place among all words of its length when it is longer.
type wordTable struct {
	lookup [1 << lookupBits]uint16 // code<<5 | length of the word, zero if that is longer
	end    [maxWordBits + 1]uint64 // of each length, the first value after its words
	base   [maxWordBits + 1]int    // of each length; added to a word, it gives the index in codes
	codes  [maxSymbols]uint16
}

// fill makes the table for words of such lengths. Of more words than there can be, those
// that come last are never found, as in libbz2.
func (t *wordTable) fill(lengths []uint8) {
	var next, count [maxWordBits + 1]int
	for _, length := range lengths {
		count[length]++
	}
	for length := 1; length <= maxWordBits; length++ {
		first := 2 * t.end[length-1]
		next[length] = next[length-1] + count[length-1]
		t.base[length] = next[length] - int(first)
		t.end[length] = first + uint64(count[length])
	}
	for code, length := range lengths {
		t.codes[next[length]] = uint16(code)
		next[length]++
	}
	filled := 0
	for i := range next[lookupBits] { // the places of short words
		length := lengths[t.codes[i]]
		for end := min(filled+1<<(lookupBits-length), len(t.lookup)); filled < end; filled++ {
			t.lookup[filled] = t.codes[i]<<5 | uint16(length)
		}
	}
	clear(t.lookup[filled:])
}

// long returns for a word of more than lookupBits bits what lookup has for shorter ones. It is zero if
// bits do not begin with a word.
func (t *wordTable) long(bits uint64) uint16 {
	for length := lookupBits + 1; length <= maxWordBits; length++ {
		if word := bits >> (64 - length); word < t.end[length] {
			return t.codes[t.base[length]+int(word)]<<5 | uint16(length)
		}
	}
	return 0
}

// columnReader reads the last column of the sorted rotations of a block.
type columnReader struct {
	column []byte      // with spareBytes of capacity after it
	counts [256]uint32 // of each byte of column
	lately [256]byte   // the bytes, ordered by when they came last
	chosen []uint8     // the table of each group of codes
	tables [maxTables]wordTable
}

// read reads a column. One of more than most bytes is an error.
func (c *columnReader) read(r *bitReader, most int) error {
	ranges, symbols := r.take(16), 2
	for high := range 16 {
		used := uint64(0)
		if ranges>>(15-high)&1 == 1 {
			used = r.take(16)
		}
		for low := range 16 {
			if used>>(15-low)&1 == 1 {
				c.lately[symbols-2] = byte(high<<4 | low)
				symbols++
			}
		}
	}
	if symbols == 2 {
		return r.corrupt("a block without bytes")
	}
	tables, groups := int(r.take(3)), int(r.take(15))
	if tables < minTables || tables > maxTables {
		return r.corrupt("too few or too many Huffman tables")
	}
	c.chosen = c.chosen[:0]
	recent := [maxTables]uint8{0, 1, 2, 3, 4, 5}
	for range groups {
		at := 0
		for ; r.take(1) == 1; at++ {
			if at == tables-1 {
				return r.corrupt("a Huffman table that does not exist")
			}
		}
		table := recent[at]
		copy(recent[1:], recent[:at])
		recent[0] = table
		c.chosen = append(c.chosen, table)
	}
	for i := range tables {
		var lengths [maxSymbols]uint8
		length := int(r.take(5))
		for code := range symbols {
			for ; length >= 1 && length <= maxWordBits && r.take(1) == 1; length += 1 - 2*int(r.take(1)) {
			}
			if length < 1 || length > maxWordBits {
				return r.corrupt("the length of a Huffman word is not within 1 to 20")
			}
			lengths[code] = uint8(length)
		}
		c.tables[i].fill(lengths[:symbols])
	}
	if reason := c.readCodes(r, uint16(symbols)-1, most); reason != "" {
		return r.corrupt(reason)
	}
	return nil
}

// readCodes reads the codes before the code end. The eight bytes that came last are kept
// in one machine word, and a digit of a run of zeros is taken as the first of them so many
// times: the codes that come most often take no branch that depends on them.
func (c *columnReader) readCodes(r *bitReader, end uint16, most int) (reason string) {
	bits, held := r.word, r.held
	defer func() { r.word, r.held = bits, held }()
	lately, older := binary.LittleEndian.Uint64(c.lately[:]), c.lately[8:]
	column, n, digit := c.column[:cap(c.column)], 0, 1
	clear(c.counts[:])
	for _, table := range c.chosen {
		t := &c.tables[table]
		for range groupCodes {
			if held < maxWordBits {
				r.word, r.held = bits, held
				r.refill()
				bits, held = r.word, r.held
			}
			found := t.lookup[bits>>(64-lookupBits)]
			if found == 0 {
				if found = t.long(bits); found == 0 {
					return "bits that are no Huffman word"
				}
			}
			bits <<= found & 31
			held -= uint(found & 31)
			code := found >> 5
			if code == end {
				c.column = column[:n]
				return ""
			}
			place, times, nextDigit := code-1, 1, 1
			if code <= runB {
				place, times, nextDigit = 0, digit<<code, 2*digit
			}
			digit = nextDigit
			if place < 8 {
				shift := 8 * place
				moved := ^uint64(0) >> ((56 - shift) & 63)
				lately = lately&^moved | lately<<8&moved | lately>>(shift&63)&0xff
			} else {
				b := older[place-8]
				copy(older[1:place-7], older[:place-8])
				older[0] = byte(lately >> 56)
				lately = lately<<8 | uint64(b)
			}
			if n+times > most {
				return "a block is larger than its stream says"
			}
			if n+times+spareBytes > len(column) {
				column = slices.Grow(column[:n], times+spareBytes)
				column = column[:cap(column)]
			}
			for i := 0; i < times; i += 8 {
				binary.LittleEndian.PutUint64(column[n+i:], lately&0xff*repeatedByte)
			}
			n += times
			c.counts[byte(lately)] += uint32(times)
		}
	}
	return "a block without an end"
}
