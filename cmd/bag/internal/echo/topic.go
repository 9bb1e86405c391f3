package echo

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/query"
	"github.com/gorosbag/gorosbag/internal/ros/topicmatch"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Topic is a topic that the user wants to see, or a field of its messages.
type Topic struct {
	text string
	glob *regexp.Regexp // nil for a name

	seen    bool  // a bag has it
	shown   bool  // and messages with the field
	noField error // why not
}

// NewTopic returns the topic of a text: a name, which a field of the messages may follow, a glob, or with
// isRegex a regular expression for the whole name.
func NewTopic(text string, isRegex bool) (*Topic, error) {
	if isRegex {
		re, err := query.AnyOf([]string{text}, true)
		return &Topic{text: text, glob: re}, err
	}
	t := &Topic{text: topicmatch.Rooted(strings.TrimRight(text, "/"))}
	if strings.Contains(text, ":") {
		return nil, fmt.Errorf("%s: slices of arrays are not supported; name an element, as in /tf/transforms[0]", wording.Shown(text))
	}
	if !strings.ContainsAny(text, "*?") {
		return t, nil
	}
	var err error
	t.glob, err = query.AnyOf([]string{t.text}, false)
	return t, err
}

// match reports whether a topic is meant, and returns which field of its messages.
func (t *Topic) match(topic string) (field string, ok bool) {
	topic = topicmatch.Rooted(topic)
	switch {
	case t.glob != nil:
		ok = topicmatch.MatchTopic(topic, t.glob.MatchString)
	case topic == t.text:
		ok = true
	default:
		field, ok = strings.CutPrefix(t.text, topic+"/")
		field = strings.ReplaceAll(field, "/", ".")
	}
	t.seen = t.seen || ok
	return field, ok
}

// problem says why no message of a topic was shown. It is empty if one was shown, or if the topic is
// in a bag and has no messages. For a topic that is in no bag it suggests similar ones that are recorded.
func (t *Topic) problem(recorded []string) string {
	switch {
	case t.shown:
		return ""
	case t.noField != nil:
		return t.noField.Error()
	case t.seen:
		return ""
	}
	return query.NoTopic(t.text, wording.NearestTopics(t.text, recorded))
}
