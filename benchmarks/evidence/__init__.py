"""What logs say of the claims that people make about entropy: ``docs/evidence.md``.

python -m benchmarks.evidence                           print the page's blocks
python -m benchmarks.evidence --write                   and put them into docs/evidence.md
python -m benchmarks.evidence --logs FOLDER             public logs elsewhere
"""
