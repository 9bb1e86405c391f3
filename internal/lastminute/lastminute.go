// Package lastminute keeps the rates of the last minute, one for each second.
package lastminute

// Seconds is how many rates are kept.
const Seconds = 60

// Rates are the rates of one topic. The zero value has none. They take 496 bytes, whatever comes.
type Rates struct {
	values [Seconds]float64 // by second modulo Seconds
	first  int64            // the second of the first rate
	next   int64            // the second after the last rate; zero while there is none
}

// Add sets the rate of a second, which is not negative, and of those before it that have none
// yet: samples may come late. A second that lies before the last one is ignored.
func (r *Rates) Add(second int64, rate float64) {
	if r.next == 0 {
		r.first, r.next = second, second
	}
	if second < r.next-1 {
		return
	}
	for s := min(second, max(r.next, second-Seconds+1)); s <= second; s++ {
		r.values[s%Seconds] = rate
	}
	r.next = second + 1
}

// oldest returns the first second that is still kept.
func (r *Rates) oldest() int64 { return max(r.first, r.next-Seconds) }

// Values returns the rates, the oldest first.
func (r *Rates) Values() []float64 {
	all := make([]float64, 0, Seconds)
	for s := r.oldest(); s < r.next; s++ {
		all = append(all, r.values[s%Seconds])
	}
	return all
}

// Means returns at most n means, the oldest first. n divides Seconds. A mean is over the same
// seconds in each call, so that a curve moves in steps and keeps its shape; the last one, and the
// first, may be over fewer.
func (r *Rates) Means(n int) []float64 {
	step := Seconds / int64(n)
	means := make([]float64, 0, n)
	if r.next == 0 {
		return means
	}
	last := (r.next - 1) / step
	for part := max(r.oldest()/step, last-int64(n)+1); part <= last; part++ {
		from, to := max(part*step, r.oldest()), min((part+1)*step, r.next)
		sum := 0.0
		for s := from; s < to; s++ {
			sum += r.values[s%Seconds]
		}
		means = append(means, sum/float64(to-from))
	}
	return means
}
