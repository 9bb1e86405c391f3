"""Prints the definitions of message types as the installed packages have them: JSON, by type."""
import json
import sys

from roslib.message import get_message_class

json.dump({t: get_message_class(t)._full_text for t in sys.argv[1:]}, sys.stdout)
