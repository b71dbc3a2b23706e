"""Looking articles up in a catalog, which is a plain mapping from code to article."""

from __future__ import annotations

from typing import Dict, List

from .goods import Article, CatalogError, UnknownSku, problems

Catalog = Dict[str, Article]


def add(catalog: Catalog, article: Article) -> Catalog:
    """The catalog with one more article; the given catalog stays as it is."""
    wrong = problems(article)
    if wrong:
        raise CatalogError(f"{article['sku']}: not positive: {', '.join(wrong)}")
    if article["sku"] in catalog:
        raise CatalogError(f"{article['sku']} is catalogued already")
    return {**catalog, article["sku"]: article}


def find(catalog: Catalog, sku: str) -> Article:
    """The article with this code."""
    if sku not in catalog:
        raise UnknownSku(f"no article {sku}")
    return catalog[sku]


def in_category(catalog: Catalog, category: str) -> List[str]:
    """All codes of one category, ascending."""
    return sorted(sku for sku, article in catalog.items() if article["category"] == category)
