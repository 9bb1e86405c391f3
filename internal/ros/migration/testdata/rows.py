# Prints, for each row of a JSON list on standard input, what genpy makes of two objects: one of the old definition, one
# of the new definition that is meant to have the same values.
import io
import json
import sys

import genpy
import genpy.dynamic


def serialized(typ, text, code):
    cls = genpy.dynamic.generate_dynamic(typ, text)
    names = {k.split('/')[-1]: c for k, c in cls.items()}
    m = cls[typ]()
    exec(code, {'m': m, 'Time': genpy.Time, 'Duration': genpy.Duration, **names})
    b = io.BytesIO()
    m.serialize(b)
    return {'md5sum': cls[typ]._md5sum, 'payload': b.getvalue().hex()}


print(json.dumps([
    {'old': serialized(r['OldType'], r['Old'], r['Has']), 'new': serialized(r['NewType'], r['New'], r['Wants'])}
    for r in json.load(sys.stdin)], indent=1))
