package recorder

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"go.uber.org/zap"
)

// Selection says which topics to record. The parts add up.
type Selection struct {
	Topics  []string // by name, or with Regex as expressions
	All     bool     // every topic that has a publisher, now or later
	Regex   bool     // Topics are regular expressions that match a whole name
	Exclude []string // expressions: leave out topics that match as a whole; not applied to Topics without Regex
	Node    string   // every topic that this node subscribes to

	literal []string
	include []*regexp.Regexp
	exclude []*regexp.Regexp
}

// compile checks the selection and prepares it for use.
func (s *Selection) compile() error {
	var err error
	if s.exclude, err = compileAll("exclude regex", s.Exclude); err != nil {
		return err
	}
	if !s.Regex {
		s.literal = s.Topics
	} else if s.include, err = compileAll("topic regex", s.Topics); err != nil {
		return err
	}
	if len(s.literal) == 0 && !s.polls() {
		return fmt.Errorf("recorder: no topics specified")
	}
	return nil
}

func compileAll(what string, exprs []string) ([]*regexp.Regexp, error) {
	var all []*regexp.Regexp
	for _, e := range exprs {
		if _, err := regexp.Compile(e); err != nil { // alone, so that the error shows what the user wrote
			return nil, fmt.Errorf("recorder: %s %q: %w", what, e, err)
		}
		// stock uses a full match (boost::regex_match), so "chatter" is not "/chatter"
		re, err := regexp.Compile(`^(?:` + e + `)$`)
		if err != nil {
			return nil, fmt.Errorf("recorder: %s %q: %w", what, e, err) // such as an open \Q
		}
		all = append(all, re)
	}
	return all, nil
}

// polls reports whether the selection needs the master's list of topics.
func (s *Selection) polls() bool { return s.All || s.Node != "" || len(s.include) > 0 }

// selects decides about a topic that the master lists.
func (s *Selection) selects(topic string) bool {
	return !matches(s.exclude, topic) && (s.All || matches(s.include, topic))
}

func matches(res []*regexp.Regexp, topic string) bool {
	for _, re := range res {
		if re.MatchString(topic) {
			return true
		}
	}
	return false
}

// discover asks the master again and again and sends the names of selected topics.
func (r *recording) discover(ctx context.Context, found chan<- []string) {
	wait := time.NewTicker(r.PollInterval)
	defer wait.Stop()
	var nodeTrouble string
	for {
		names := r.poll(ctx, &nodeTrouble)
		if len(names) > 0 {
			select {
			case found <- names:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-wait.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll is one round of discovery. Trouble with the master is the node's to report;
// trouble with the node of --node is said when it changes.
func (r *recording) poll(ctx context.Context, nodeTrouble *string) []string {
	var names []string
	if r.Select.All || len(r.Select.include) > 0 {
		topics, err := r.Node.Master().PublishedTopics(ctx)
		if err != nil {
			r.Log.Debug("no topic list from the master", zap.Error(err))
			return nil
		}
		for _, t := range topics {
			if r.Select.selects(t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	if r.Select.Node == "" {
		return names
	}
	topics, err := r.nodeTopics(ctx)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != *nodeTrouble && text != "" && ctx.Err() == nil {
		r.Log.Warn("cannot ask the node what it subscribes to", zap.String("node", r.Select.Node), zap.Error(err))
	}
	*nodeTrouble = text
	for _, t := range topics {
		if !matches(r.Select.exclude, t) {
			names = append(names, t)
		}
	}
	return names
}

// nodeTopics asks the node of --node for its subscriptions.
func (r *recording) nodeTopics(ctx context.Context) ([]string, error) {
	name, err := r.Node.Resolve(r.Select.Node)
	if err != nil {
		return nil, err
	}
	uri, err := r.Node.Master().LookupNode(ctx, name)
	if err != nil {
		return nil, err
	}
	subs, err := r.Node.Master().NodeSubscriptions(ctx, uri)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(subs))
	for i, s := range subs {
		names[i] = s.Name
	}
	return names, nil
}
