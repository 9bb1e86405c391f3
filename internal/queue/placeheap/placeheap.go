// Package placeheap is a heap in which any entry can be changed, and from which any can be removed.
// It is pure: its caller has the lock.
package placeheap

import "container/heap"

// Heap is a heap that sets in each entry its index in List, so that any entry can be removed. List[0]
// is the entry that sorts before all others.
type Heap[E any] struct {
	List   []E
	Before func(x, y E) bool
	Moved  func(e E, place int) // called with the index in list whenever it changes
}

// Add adds an entry, and calls Moved with its index in List.
func (h *Heap[E]) Add(e E) { heap.Push(h, e) }

// Remove removes the entry at a place in List.
func (h *Heap[E]) Remove(place int) { heap.Remove(h, place) }

// Fix moves the entry at a place in List to its new place, after what Before compares has changed.
func (h *Heap[E]) Fix(place int) { heap.Fix(h, place) }

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
	clear(h.List[last:]) // so that the garbage collector can free the entry
	h.List = h.List[:last]
	return e
}
