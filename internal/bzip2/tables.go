package bzip2

import (
	"slices"
)

const (
	groupCodes   = 50  // codes that share one choice of a table
	maxSymbols   = 258 // codes at most
	maxTables    = 6
	maxCodeBits  = 17 // of the trees: what every decoder takes
	fitRounds    = 4  // of fitting the tables to the groups that chose them
	laneBits     = 10 // a group costs at most groupCodes*maxCodeBits bits in a table
	unlikelyBits = 15 // bits that a code outside a table's first range is taken to cost
)

// huffmanTables are the Huffman tables of a block.
type huffmanTables struct {
	count   int // of tables
	symbols int
	lengths [maxTables][maxSymbols]uint8
	words   [maxTables][maxSymbols]uint32
	chosen  []uint8 // the table of each group
	freq    [maxTables][maxSymbols]uint32
	tree    huffmanTree
}

// choose makes tables for codes, each below symbols: it begins with tables for codes of
// high and of low values, lets each group choose the cheapest, fits the tables to
// the groups that chose them, and so on.
func (t *huffmanTables) choose(codes []uint16, symbols int) {
	t.symbols = symbols
	switch n := len(codes); {
	case n < 200:
		t.count = 2
	case n < 600:
		t.count = 3
	case n < 1200:
		t.count = 4
	case n < 2400:
		t.count = 5
	default:
		t.count = maxTables
	}
	t.begin(codes)
	for range fitRounds {
		t.pick(codes)
		for i := range t.count {
			t.tree.lengths(t.lengths[i][:symbols], t.freq[i][:symbols])
		}
	}
	for i := range t.count {
		t.assign(i)
	}
}

// begin gives each table a range of codes that come about equally often together.
func (t *huffmanTables) begin(codes []uint16) {
	freq := t.freq[0][:t.symbols]
	clear(freq)
	for _, c := range codes {
		freq[c]++
	}
	left, next := len(codes), 0
	for i := range t.count {
		from, sum := next, 0
		for next < t.symbols && (sum < left/(t.count-i) || next == from) {
			sum += int(freq[next])
			next++
		}
		left -= sum
		for c := range t.symbols {
			t.lengths[i][c] = unlikelyBits
			if c >= from && c < next {
				t.lengths[i][c] = 0
			}
		}
	}
}

// pick lets each group choose, and counts what each table was chosen for. The costs of
// a code in all tables are added at once, in lanes of one word.
func (t *huffmanTables) pick(codes []uint16) {
	var costs [maxSymbols]uint64
	for i := range t.count {
		clear(t.freq[i][:t.symbols])
		for c := range t.symbols {
			costs[c] |= uint64(t.lengths[i][c]) << (i * laneBits)
		}
	}
	t.chosen = t.chosen[:0]
	for len(codes) > 0 {
		group := codes[:min(groupCodes, len(codes))]
		codes = codes[len(group):]
		sum := uint64(0)
		for _, c := range group {
			sum += costs[c]
		}
		best, least := 0, sum&(1<<laneBits-1)
		for i := 1; i < t.count; i++ {
			if cost := sum >> (i * laneBits) & (1<<laneBits - 1); cost < least {
				best, least = i, cost
			}
		}
		t.chosen = append(t.chosen, uint8(best))
		freq := &t.freq[best]
		for _, c := range group {
			freq[c]++
		}
	}
}

// assign numbers the codes of one table: shorter ones first, then by value.
func (t *huffmanTables) assign(i int) {
	next := uint32(0)
	for length := uint8(1); length <= maxCodeBits; length++ {
		for c, l := range t.lengths[i][:t.symbols] {
			if l == length {
				t.words[i][c] = next
				next++
			}
		}
		next <<= 1
	}
}

// write writes the tables, which group has which, and the codes.
func (t *huffmanTables) write(w *bitWriter, codes []uint16) {
	w.put(uint32(t.count), 3)
	w.put(uint32(len(t.chosen)), 15)
	lately := [maxTables]uint8{0, 1, 2, 3, 4, 5}
	for _, table := range t.chosen {
		at := slices.Index(lately[:], table)
		copy(lately[1:], lately[:at])
		lately[0] = table
		w.put(1<<(at+1)-2, at+1) // as many ones, then a zero
	}
	for i := range t.count {
		t.writeLengths(w, t.lengths[i][:t.symbols])
	}
	for _, table := range t.chosen {
		group := codes[:min(groupCodes, len(codes))]
		codes = codes[len(group):]
		words, lengths := &t.words[table], &t.lengths[table]
		for _, c := range group {
			w.put(words[c], int(lengths[c]))
		}
	}
}

// writeLengths writes how each length differs from the one before it.
func (t *huffmanTables) writeLengths(w *bitWriter, lengths []uint8) {
	now := lengths[0]
	w.put(uint32(now), 5)
	for _, l := range lengths {
		for ; now < l; now++ {
			w.put(0b10, 2)
		}
		for ; now > l; now-- {
			w.put(0b11, 2)
		}
		w.put(0, 1)
	}
}

// huffmanTree finds the lengths of Huffman codes.
type huffmanTree struct {
	leaves [maxSymbols]uint64 // frequency, and the code in the lowest bits
	sums   [maxSymbols]uint64 // of the inner nodes, in the order they were made
	parent [2 * maxSymbols]int16
	depth  [2 * maxSymbols]uint8
}

const codeBits = 9 // of maxSymbols

// lengths fills in the length of each code. Codes that never come get one too.
func (t *huffmanTree) lengths(lengths []uint8, freq []uint32) {
	n := len(freq)
	leaves := t.leaves[:n]
	for c, f := range freq {
		leaves[c] = uint64(max(f, 1))<<codeBits | uint64(c)
	}
	for {
		slices.Sort(leaves)
		t.join(leaves)
		deepest := uint8(0)
		for i, leaf := range leaves {
			lengths[leaf&(1<<codeBits-1)] = t.depth[i]
			deepest = max(deepest, t.depth[i])
		}
		if deepest <= maxCodeBits {
			return
		}
		for i, leaf := range leaves { // flatter: halve the differences
			f := leaf >> codeBits
			leaves[i] = (f/2+1)<<codeBits | leaf&(1<<codeBits-1)
		}
	}
}

// join makes the tree over sorted leaves, nodes 0 to n-1, and finds the depth of each.
// Inner nodes come out in the order of their sums, so that the two smallest of all are
// always the next leaf or the next inner node.
func (t *huffmanTree) join(leaves []uint64) {
	n := len(leaves)
	leaf, inner, made := 0, 0, 0
	for made < n-1 {
		sum := uint64(0)
		for range 2 {
			if leaf < n && (inner == made || leaves[leaf]>>codeBits <= t.sums[inner]) {
				sum += leaves[leaf] >> codeBits
				t.parent[leaf] = int16(n + made)
				leaf++
			} else {
				sum += t.sums[inner]
				t.parent[n+inner] = int16(n + made)
				inner++
			}
		}
		t.sums[made] = sum
		made++
	}
	t.depth[n+made-1] = 0
	for i := n + made - 2; i >= 0; i-- {
		t.depth[i] = t.depth[t.parent[i]] + 1
	}
}
