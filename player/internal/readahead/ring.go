package readahead

// ring is a FIFO of items that knows their cost. It is pure; the zero value is an empty ring.
type ring struct {
	items []Item // circular: items[0] follows the last element
	head  int    // the place of the first item
	count int
	bytes int // the cost of all items
}

// append adds an item after the others. The ring grows when it is full.
func (r *ring) append(it Item, cost int) {
	if r.count == len(r.items) {
		grown := make([]Item, max(64, 2*len(r.items)))
		n := copy(grown, r.items[r.head:])
		copy(grown[n:], r.items[:r.head])
		r.items, r.head = grown, 0
	}
	at := r.head + r.count
	if at >= len(r.items) {
		at -= len(r.items)
	}
	r.items[at] = it
	r.count++
	r.bytes += cost
}

// first returns the first item, in its place. The ring must not be empty.
func (r *ring) first() *Item { return &r.items[r.head] }

// removeFirst removes the first item. The ring must not be empty.
func (r *ring) removeFirst() {
	r.bytes -= r.items[r.head].cost()
	r.items[r.head] = Item{} // frees the chunk
	if r.head++; r.head == len(r.items) {
		r.head = 0
	}
	r.count--
}

// cost returns the bytes that an item counts against the bounds of a queue. A frame keeps its whole
// chunk in memory, so each message of a topic that is rare in its bag costs more.
func (it *Item) cost() int {
	switch {
	case it.Jump != nil:
		return jumpCost
	case it.Memory():
		return 0 // the messages in it cost
	}
	return max(len(it.Frame), it.retained)
}

// jumpCost is the cost of a jump. It bounds how many passes of a short loop are read
// ahead, which a seek would discard.
const jumpCost = maxAheadBytes / 8
