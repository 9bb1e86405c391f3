package topicmatch

import "slices"

// Rooted returns the name of a topic with a leading slash. Some programs record topics without it:
// /chatter and chatter mean the same topic wherever a user names one.
func Rooted(topic string) string {
	if topic != "" && topic[0] == '/' {
		return topic
	}
	return "/" + topic
}

// MatchTopic reports whether match holds for a topic, with its leading slash or without. It calls match
// for both.
func MatchTopic(topic string, match func(name string) bool) bool {
	rooted := Rooted(topic)
	with, without := match(rooted), match(rooted[1:])
	return with || without
}

// BothForms returns, with their slash, the topics that are recorded with a leading slash and without: who
// names one of them means both.
func BothForms(recorded []string) (both []string) {
	for _, topic := range recorded {
		rooted := Rooted(topic)
		if rooted != topic && slices.Contains(recorded, rooted) && !slices.Contains(both, rooted) {
			both = append(both, rooted)
		}
	}
	return both
}
