package bagfmt

import (
	"cmp"
	"slices"
	"sync"
)

// chunkLists remembers which chunks hold messages of the connections that were asked for.
type chunkLists struct {
	mu     sync.Mutex
	order  []int32           // all chunks: the one with the latest end first, of equal ones the last in the file
	of     map[int32][]int32 // by index in Reader.conns, in the same order
	passes int               // through all chunks
}

// get returns the lists of connections, given by their index.
func (l *chunkLists) get(r *Reader, conns []int32) map[int32][]int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	lists, missing := map[int32][]int32{}, map[*Connection]int32{}
	for _, c := range conns {
		list, ok := l.of[c]
		if lists[c] = list; !ok {
			missing[r.conns[c]] = c
		}
	}
	if len(missing) == 0 {
		return lists
	}
	l.sort(r)
	l.passes++
	for _, i := range l.order {
		for _, n := range r.chunks[i].Counts {
			c, ok := missing[n.Conn]
			if list := lists[c]; ok && n.Count > 0 && (len(list) == 0 || list[len(list)-1] != i) {
				lists[c] = append(list, i)
			}
		}
	}
	for _, c := range missing {
		l.of[c] = lists[c]
	}
	return lists
}

func (l *chunkLists) sort(r *Reader) {
	if l.order != nil {
		return
	}
	l.order = make([]int32, len(r.chunks))
	for i := range l.order {
		l.order[i] = int32(i)
	}
	slices.SortFunc(l.order, func(a, b int32) int {
		return cmp.Or(r.chunks[b].End.Compare(r.chunks[a].End), cmp.Compare(b, a))
	})
}
