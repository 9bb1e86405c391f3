// Package placeheap is a heap whose entries can be removed wherever they are. It is pure: its user
// has the lock.
package placeheap

import "container/heap"

// Heap is a heap of entries that know their place in it, so that any of them can be
// removed. The entry that goes before all others is first in list.
type Heap[E any] struct {
	List   []E
	Before func(x, y E) bool
	Moved  func(e E, place int) // called with the index in list whenever it changes
}

// Add adds an entry, and tells Moved its place.
func (h *Heap[E]) Add(e E) { heap.Push(h, e) }

// Remove removes the entry at a place in List.
func (h *Heap[E]) Remove(place int) { heap.Remove(h, place) }

// Len implements heap.Interface.
func (h *Heap[E]) Len() int { return len(h.List) }

// Less implements heap.Interface.
func (h *Heap[E]) Less(i, j int) bool { return h.Before(h.List[i], h.List[j]) }

// Swap implements heap.Interface.
func (h *Heap[E]) Swap(i, j int) {
	h.List[i], h.List[j] = h.List[j], h.List[i]
	h.Moved(h.List[i], i)
	h.Moved(h.List[j], j)
}

// Push implements heap.Interface.
func (h *Heap[E]) Push(x any) {
	e := x.(E)
	h.Moved(e, len(h.List))
	h.List = append(h.List, e)
}

// Pop implements heap.Interface.
func (h *Heap[E]) Pop() any {
	last := len(h.List) - 1
	e := h.List[last]
	clear(h.List[last:]) // what was closed is not kept
	h.List = h.List[:last]
	return e
}
