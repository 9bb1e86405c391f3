package load

// runMerger sorts lists of entries that consist of sorted runs. Index data records are
// nearly always sorted, and merging them pairwise takes a third of the time of sorting.
type runMerger struct {
	runs  []int   // start of each run in the list
	other []Entry // memory of sort
}

func (e Entry) before(x Entry) bool {
	return e.Key < x.Key || e.Key == x.Key && e.Offset < x.Offset
}

// begin starts a new list.
func (m *runMerger) begin() { m.runs = m.runs[:0] }

// startRun starts a run at an index of the list.
func (m *runMerger) startRun(at int) { m.runs = append(m.runs, at) }

// sort sorts list.
func (m *runMerger) sort(list []Entry) {
	m.startRun(len(list))
	runs := m.runs
	for i := range len(runs) - 1 {
		for k := runs[i] + 1; k < runs[i+1]; k++ {
			if list[k].before(list[k-1]) {
				sortEntries(list)
				return
			}
		}
	}
	from := list
	if len(runs) > 2 && cap(m.other) < len(list) {
		m.other = make([]Entry, len(list))
	}
	to := m.other[:min(len(list), cap(m.other))]
	for len(runs) > 2 {
		n := 0 // of the merged runs
		for i := 0; i+1 < len(runs); i += 2 {
			a, b := runs[i], runs[i+1]
			end := b
			if i+2 < len(runs) {
				end = runs[i+2]
			}
			mergeTwo(to[a:end], from[a:b], from[b:end])
			runs[n] = a
			n++
		}
		runs[n] = len(list)
		runs = runs[:n+1]
		from, to = to, from
	}
	if len(list) > 0 && &from[0] != &list[0] {
		copy(list, from)
	}
	m.runs = runs[:0]
}

// mergeTwo fills to with a and b.
func mergeTwo(to, a, b []Entry) {
	for i := range to {
		if len(b) == 0 || len(a) > 0 && !b[0].before(a[0]) {
			if len(b) == 0 {
				copy(to[i:], a)
				return
			}
			to[i], a = a[0], a[1:]
			continue
		}
		if len(a) == 0 {
			copy(to[i:], b)
			return
		}
		to[i], b = b[0], b[1:]
	}
}
