// This file finds the name that somebody meant who misspelled it.

package wording

import (
	"cmp"
	"slices"
	"strings"
)

// NearestName returns the most similar one of names, or "" if none is similar.
func NearestName(name string, names []string) string {
	best, least := "", 1+max(2, len(name)/4)
	for _, n := range names {
		if n == "" {
			continue
		}
		if d := editDistance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// editDistance counts the bytes to insert, delete, change or swap with the next between a and b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// mostTopics is how many topics are suggested for one name.
const mostTopics = 3

// NearestTopics returns the topics that are most similar to name, the best first. A part of a topic's
// name counts, too: /imu is near /imu/data and /robot/imu. Of a topic with and without its leading slash,
// which mean the same, one is returned.
func NearestTopics(name string, topics []string) []string {
	type candidate struct {
		topic string
		score int
	}
	var found []candidate
	wanted := strings.ToLower(strings.Trim(name, "/"))
	known := map[string]bool{}
	for _, topic := range topics {
		if bare := strings.TrimPrefix(topic, "/"); known[bare] {
			continue
		} else {
			known[bare] = true
		}
		if score := distance(wanted, strings.ToLower(strings.Trim(topic, "/"))); score <= (len(wanted)+2)/3 {
			found = append(found, candidate{topic, score})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(len(a.topic), len(b.topic)))
	})
	var names []string
	for _, c := range found[:min(len(found), mostTopics)] {
		names = append(names, c.topic)
	}
	return names
}

// distance is the edit distance of name to topic, or to what topic begins or ends with.
func distance(name, topic string) int {
	least := editDistance(name, topic)
	for i, r := range topic {
		if r == '/' {
			least = min(least, 1+editDistance(name, topic[:i]), 1+editDistance(name, topic[i+1:]))
		}
	}
	return least
}
