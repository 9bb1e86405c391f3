package tcpros

import "container/heap"

// placeHeap is a heap of entries that know their place in it, so that any of them can be
// removed. The entry that goes before all others is first in list.
type placeHeap[E any] struct {
	list   []E
	before func(x, y E) bool
	moved  func(e E, place int) // called with the index in list whenever it changes
}

func (h *placeHeap[E]) add(e E) { heap.Push(h, e) }

func (h *placeHeap[E]) remove(place int) { heap.Remove(h, place) }

// Len implements heap.Interface.
func (h *placeHeap[E]) Len() int { return len(h.list) }

// Less implements heap.Interface.
func (h *placeHeap[E]) Less(i, j int) bool { return h.before(h.list[i], h.list[j]) }

// Swap implements heap.Interface.
func (h *placeHeap[E]) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.moved(h.list[i], i)
	h.moved(h.list[j], j)
}

// Push implements heap.Interface.
func (h *placeHeap[E]) Push(x any) {
	e := x.(E)
	h.moved(e, len(h.list))
	h.list = append(h.list, e)
}

// Pop implements heap.Interface.
func (h *placeHeap[E]) Pop() any {
	last := len(h.list) - 1
	e := h.list[last]
	clear(h.list[last:]) // what was closed is not kept
	h.list = h.list[:last]
	return e
}
